"""Tables that come in several kinds: which one values are for, and errors that name keys and kinds."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, Tag

from heedful.config import Config, Layer, parse_overrides, resolve, to_toml, to_tree
from heedful.errors import ConfigError
from heedful.sections import by_kind, every_key, kind_of, other_kinds, own_keys, section_for


class Oar(Config):
    """Moved by hand."""

    kind: Literal["oar"] = "oar"
    length: float = 3.0


class Sail(Config):
    """Moved by wind."""

    kind: Literal["sail"] = "sail"
    area: float = Field(description="in square metres")
    masts: int = 1


AnyDrive = Annotated[Annotated[Oar, Tag("oar")] | Annotated[Sail, Tag("sail")], by_kind("oar")]


class Boat(Config):
    """A boat."""

    name: str = "Swan"
    drive: AnyDrive = Field(default=Oar(), description="what moves it")


def refusal(*overrides: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        resolve(Boat, [parse_overrides(overrides)])
    return caught.value


class TestChoosing:
    def test_by_kind_and_by_default(self) -> None:
        assert resolve(Boat, []).config.drive == Oar()
        assert resolve(Boat, [parse_overrides(["drive.length=4.0"])]).config.drive == Oar(length=4.0)
        found = resolve(Boat, [parse_overrides(["drive.kind=sail", "drive.area=9.0"])])
        assert found.config.drive == Sail(area=9.0)
        assert found.origins == {
            "name": "default",
            "drive.kind": "command line",
            "drive.area": "command line",
            "drive.masts": "default",
        }

    @pytest.mark.parametrize("drive", [Oar(length=2.0), Sail(area=1.0, masts=3)])
    def test_written_and_read_back(self, drive: Oar | Sail) -> None:
        boat = Boat(drive=drive)
        assert resolve(Boat, [Layer("", to_tree(boat))]).config == boat
        assert f'kind = "{drive.kind}"' in to_toml(boat)

    def test_what_a_table_is(self) -> None:
        annotation = Boat.model_fields["drive"].annotation
        assert section_for(annotation, {"kind": "sail"}) is Sail
        assert section_for(annotation, {}) is Oar
        assert section_for(str, {}) is None
        assert list(every_key(Boat, {"drive": {"kind": "sail"}})) == [
            "name",
            "drive",
            "drive.kind",
            "drive.area",
            "drive.masts",
        ]
        assert other_kinds(annotation, {}, "masts") == ["sail"]
        assert own_keys(Boat, ("drive", "sail", "area")) == ["drive", "area"]
        assert (kind_of({}, "oar"), kind_of(Sail(area=1.0), "oar"), kind_of(5, "oar")) == ("oar", "sail", None)


class TestErrors:
    def test_unknown_kind(self) -> None:
        error = refusal("drive.kind=sial")
        assert (error.message, error.hint) == ("command line: `drive.kind` cannot be 'sial'.", "Did you mean `sail`?")
        assert refusal("drive.kind=5").message == "command line: `drive.kind` cannot be 5."
        assert "config schema" in str(refusal("drive.kind=steam").hint)

    def test_no_table(self) -> None:
        assert refusal("drive=5").message == "command line: `drive` must be a table, but is 5."

    def test_a_key_of_another_kind(self) -> None:
        error = refusal("drive.masts=2")
        assert error.message == "command line: unknown key `drive.masts`."
        assert error.hint == 'It is a key of `drive.kind` = "sail".'

    def test_a_key_of_this_kind_nearly(self) -> None:
        error = refusal("drive.kind=sail", "drive.area=1.0", "drive.mast=2")
        assert error.hint == "Did you mean `drive.masts`?"

    def test_missing_and_wrong(self) -> None:
        assert refusal("drive.kind=sail").message == "`drive.area` is required and has no default."
        error = refusal("drive.kind=sail", "drive.area=wide")
        assert error.message.startswith("command line: `drive.area` must be a valid number")
        assert error.hint == "`area`: in square metres."
