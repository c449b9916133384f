"""Reading, merging, checking and writing configurations, on a small configuration of the tests' own."""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, model_validator

from heedful.config import (
    Config,
    Difference,
    Layer,
    differences,
    flatten,
    merge,
    parse_overrides,
    read_toml,
    resolve,
    set_key,
    to_toml,
    to_tree,
)
from heedful.errors import ConfigError
from heedful.toml import DEEPEST, line_of


class Engine(Config):
    """What drives the boat."""

    power: Annotated[int, Field(gt=0)] = Field(default=7, description="in kilowatts")
    fuel: Literal["diesel", "petrol"] = "diesel"
    maker: str | None = Field(default=None, description="as on the plate")


class Boat(Config):
    """A boat.

    With details that no recipe shows.
    """

    name: str
    length: float = Field(default=8.0, description="in metres")
    sails: bool = True
    ratios: Annotated[tuple[float, ...], Field(strict=False)] = (0.5, 2.0)
    engine: Engine = Engine()
    spare: Engine | None = Field(default=None, description="left out: none aboard")

    @model_validator(mode="after")
    def _moves(self) -> "Boat":
        if not self.sails and self.engine.power < 2:
            raise ValueError("without `sails` the `engine` needs 2 kilowatts")
        return self


def boat(text: str, folder: Path) -> Layer:
    path = folder / "boat.toml"
    path.write_text(text, encoding="utf-8")
    return read_toml(path)


def refusal(*layers: Layer) -> ConfigError:
    """The error that these layers cause."""
    with pytest.raises(ConfigError) as caught:
        resolve(Boat, layers)
    return caught.value


NAMED = Layer("preset", {"name": "Swan"})
READ = "`heedful init` writes a recipe with every key, its default and what it is for."


class TestReading:
    def test_values_and_text(self, tmp_path: Path) -> None:
        layer = boat('name = "Swan"\n[engine]\npower = 9\n', tmp_path)
        assert layer.values == {"name": "Swan", "engine": {"power": 9}}
        assert layer.origin == str(tmp_path / "boat.toml")

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        (tmp_path / "boat.toml").write_bytes(b'\xef\xbb\xbfname = "Swan"\r\n')
        assert read_toml(tmp_path / "boat.toml").values == {"name": "Swan"}

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"No configuration file at .*none\.toml\.") as caught:
            read_toml(tmp_path / "none.toml")
        assert "heedful init" in str(caught.value.hint)

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="is a directory, not a configuration file") as caught:
            read_toml(tmp_path)
        assert caught.value.hint == "Name the .toml file inside it."

    def test_other_encoding(self, tmp_path: Path) -> None:
        (tmp_path / "boat.toml").write_bytes('name = "Bär"'.encode("latin-1"))
        with pytest.raises(ConfigError, match=r"is not UTF-8 text \(byte 9\)"):
            read_toml(tmp_path / "boat.toml")

    def test_unreadable_path(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ConfigError, match=r"No configuration file at .*boat\.toml\."):
            read_toml(tmp_path / "file" / "boat.toml")

    def test_syntax_error_names_file_and_line(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"boat\.toml: .*line 2") as caught:
            boat('name = "Swan"\nlength = long\n', tmp_path)
        assert "quotes" in str(caught.value.hint)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("length = " + "9" * 5000, "line 2: a number of thousands of digits."),
            ("length = 9223372036854775808", "line 2: `length` is 9e+18, but a whole number has 64 bits."),
            (
                "engine.power = -9223372036854775809",
                "line 2: `engine.power` is -9e+18, but a whole number has 64 bits.",
            ),
            ("ratios = " + "[" * 5000, f"its lists or tables nest more than {DEEPEST} deep."),
            ("a." * 5000 + "b = 1", f"its lists or tables nest more than {DEEPEST} deep."),
            ("engine = " + "{a = " * 400 + "1" + "}" * 400, f"its lists or tables nest more than {DEEPEST} deep."),
            ('name = "\\ud83d"', "Escaped character is not a Unicode scalar value"),
            ('name = "\\u0000"', "line 2: `name` holds a NUL character."),
        ],
    )
    def test_what_nobody_can_hold(self, line: str, message: str, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            boat(f"\n{line}\n", tmp_path)
        assert caught.value.message.startswith(f"{tmp_path / 'boat.toml'}: {message}")
        assert caught.value.hint

    def test_the_largest_number(self, tmp_path: Path) -> None:
        assert boat(f"length = {2**63 - 1}\n", tmp_path).values == {"length": 2**63 - 1}

    def test_key_given_twice(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"boat\.toml: .*line 2"):
            boat("length = 1\nlength = 2\n", tmp_path)


class TestOverrides:
    @pytest.mark.parametrize(
        ("assignment", "values"),
        [
            ("length=9.5", {"length": 9.5}),
            ("engine.power=3", {"engine": {"power": 3}}),
            ("sails=false", {"sails": False}),
            ("engine.fuel=petrol", {"engine": {"fuel": "petrol"}}),
            ('engine.fuel="petrol"', {"engine": {"fuel": "petrol"}}),
            ("ratios=[1, 2]", {"ratios": [1, 2]}),
            ("name=a=b", {"name": "a=b"}),
            ("name=", {"name": ""}),
        ],
    )
    def test_values(self, assignment: str, values: dict) -> None:
        assert parse_overrides([assignment]).values == values

    @pytest.mark.parametrize("raw", ["42", "2024-01-01", "07:30:00", "true", "1_000", "nan", "4.50", "0x1F"])
    def test_a_key_of_text_takes_what_was_typed(self, raw: str) -> None:
        overrides = parse_overrides([f"name={raw}", f"engine.maker={raw}"])
        found = resolve(Boat, [overrides]).config
        assert (found.name, found.engine.maker) == (raw, raw)
        assert resolve(Boat, [overrides]).origins["name"] == "command line"

    def test_other_keys_do_not(self) -> None:
        found = resolve(Boat, [NAMED, parse_overrides(["length=42", "engine.power=42", "sails=true"])]).config
        assert (found.length, found.engine.power, found.sails) == (42.0, 42, True)
        assert "must be a valid string, but is [1]" in refusal(parse_overrides(["name=[1]"])).message
        assert "must be a valid string, but is 42" in refusal(Layer("file", {"name": 42})).message

    def test_bytes_that_are_no_utf8(self) -> None:
        with pytest.raises(ConfigError, match=r"command line: `name` is no UTF-8 text: 'r\\udcff'"):
            parse_overrides(["name=r\udcff"])

    @pytest.mark.parametrize(
        ("raw", "message"),
        [
            ("9" * 5000, "`length`: a number of thousands of digits."),
            (str(2**63), "`length` is 9e+18, but a whole number has 64 bits."),
            ("[" * 3000 + "]" * 3000, f"`length`: its lists or tables nest more than {DEEPEST} deep."),
            ("[" * 30 + "]" * 30, f"`length`: its lists or tables nest more than {DEEPEST} deep."),
            ('"a\\u0000b"', "`length` holds a NUL character."),
        ],
    )
    def test_what_toml_allows_and_nobody_can_hold(self, raw: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_overrides([f"length={raw}"])
        assert caught.value.message == f"command line: {message}"
        assert caught.value.hint

    def test_later_wins(self) -> None:
        assert parse_overrides(["length=1", "length=2"]).values == {"length": 2}

    @pytest.mark.parametrize("assignment", ["length", "=3", "--length=3", "le ngth=3"])
    def test_no_assignment(self, assignment: str) -> None:
        message = f"`{assignment}` is not of the form key=value."
        with pytest.raises(ConfigError, match=re.escape(message)) as caught:
            parse_overrides([assignment])
        assert caught.value.hint == "For example: training.max_updates=100"

    def test_value_and_table_at_once(self) -> None:
        message = "`engine.power` cannot be set, because `engine` is set to a single value as well."
        with pytest.raises(ConfigError, match=re.escape(message)):
            parse_overrides(["engine=3", "engine.power=3"])


trees = st.recursive(
    st.integers() | st.text(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
).filter(lambda tree: isinstance(tree, dict))


class TestTrees:
    def test_merge_by_hand(self) -> None:
        base = {"a": 1, "t": {"x": 1, "y": 2}}
        assert merge(base, {"t": {"y": 3}, "b": 4}) == {"a": 1, "t": {"x": 1, "y": 3}, "b": 4}
        assert base == {"a": 1, "t": {"x": 1, "y": 2}}

    @given(trees, trees, trees)
    def test_merge_is_associative_with_unit(self, a: dict, b: dict, c: dict) -> None:
        assert merge(a, {}) == a == merge({}, a)
        if not any(_clash(x, y) for x, y in ((a, b), (b, c), (a, c))):
            assert merge(merge(a, b), c) == merge(a, merge(b, c))

    @given(st.dictionaries(st.sampled_from(["a", "b.x", "b.y", "c.d.e"]), st.integers()))
    def test_flatten_undoes_set_key(self, flat: dict[str, int]) -> None:
        tree: dict = {}
        for key, value in flat.items():
            set_key(tree, key, value)
        assert flatten(tree) == flat


def _clash(left: dict, right: dict) -> bool:
    """Whether a key is a table on one side and a value on the other."""
    both = [(left[key], right[key]) for key in left.keys() & right.keys()]
    tables = [(a, b) for a, b in both if isinstance(a, dict) and isinstance(b, dict)]
    return any(isinstance(a, dict) != isinstance(b, dict) for a, b in both) or any(_clash(a, b) for a, b in tables)


class TestResolving:
    def test_later_layers_win_and_origins_are_told(self, tmp_path: Path) -> None:
        file = boat('name = "Swan"\n\n[engine]\npower = 9\nfuel = "petrol"\n', tmp_path)
        resolved = resolve(Boat, [Layer("preset p", {"length": 5.0}), file, parse_overrides(["engine.power=11"])])
        assert resolved.config == Boat(name="Swan", length=5.0, engine=Engine(power=11, fuel="petrol"))
        assert resolved.origins["name"] == f"{file.origin}, line 1"
        assert resolved.origins["length"] == "preset p"
        assert resolved.origins["engine.fuel"] == f"{file.origin}, line 5"
        assert resolved.origins["engine.power"] == "command line"
        assert resolved.origins["sails"] == "default"
        assert set(resolved.origins) == set(flatten(to_tree(resolved.config)))

    def test_configurations_are_frozen(self) -> None:
        with pytest.raises(ValidationError, match="frozen"):
            Engine().power = 3  # type: ignore[misc]

    def test_unknown_key_of_nearly_a_known_name(self, tmp_path: Path) -> None:
        error = refusal(boat('name = "Swan"\n[engine]\npowr = 9\n', tmp_path))
        assert error.message == f"{tmp_path / 'boat.toml'}, line 3: unknown key `engine.powr`."
        assert error.hint == "Did you mean `engine.power`?"

    def test_unknown_key_that_belongs_elsewhere(self) -> None:
        error = refusal(NAMED, parse_overrides(["power=9"]))
        assert error.message == "command line: unknown key `power`."
        assert error.hint == "Did you mean `engine.power` or `spare.power`?"

    @pytest.mark.parametrize("wrong", ["makre", "maker", "spare.makr"])
    def test_the_nearest_key_of_all_tables(self, wrong: str) -> None:
        """`makre` is nearer to `maker` of a table than to any key beside it."""
        near = "`spare.maker`" if "." in wrong else "`engine.maker` or `spare.maker`"
        assert refusal(NAMED, parse_overrides([f"{wrong}=x"])).hint == f"Did you mean {near}?"

    def test_unknown_key_near_nothing(self) -> None:
        error = refusal(NAMED, parse_overrides(["engine.zzz=9"]))
        assert error.hint == "Known keys here: fuel, maker, power."

    def test_unknown_key_in_an_optional_table(self) -> None:
        assert refusal(NAMED, parse_overrides(["spare.fule=diesel"])).hint == "Did you mean `spare.fuel`?"

    def test_required_key(self) -> None:
        error = refusal()
        assert error.message == "`name` is required and has no default."
        assert str(error.hint).startswith("Add it, as `name = ...`.")

    @pytest.mark.parametrize(
        ("assignment", "message", "hint"),
        [
            ("engine.power=9.5", "`engine.power` must be a valid integer, but is 9.5.", "`power`: in kilowatts."),
            ("engine.power=0", "`engine.power` must be greater than 0, but is 0.", "`power`: in kilowatts."),
            ("engine.power=true", "`engine.power` must be a valid integer, but is True.", "`power`: in kilowatts."),
            (
                "engine.fuel=disel",
                "`engine.fuel` must be 'diesel' or 'petrol', but is 'disel'.",
                "Did you mean `diesel`?",
            ),
            ("engine.fuel=coal", "`engine.fuel` must be 'diesel' or 'petrol', but is 'coal'.", READ),
            (
                "sails=yes",
                "`sails` must be a valid boolean, but is 'yes'.",
                "TOML writes truth values as true and false.",
            ),
            ("length=inf", "`length` must be a finite number, but is inf.", "`length`: in metres."),
            ("ratios=[1, 'x']", "`ratios` must be a valid number, but is 'x'.", READ),
            ("engine=3", "`engine` must be a table, but is 3.", READ),
            ("spare.power=x", "`spare.power` must be a valid integer, but is 'x'.", "`power`: in kilowatts."),
            ("name.first=3", "`name` must be a valid string, but is a table.", READ),
        ],
    )
    def test_wrong_value(self, assignment: str, message: str, hint: str) -> None:
        error = refusal(NAMED, parse_overrides([assignment]))
        assert (error.message, error.hint) == (f"command line: {message}", hint)

    def test_numbers_are_not_strings(self) -> None:
        error = refusal(Layer("file", {"name": 3}))
        assert error.message == "file: `name` must be a valid string, but is 3."

    def test_rule_over_several_keys_points_at_the_one_set_last(self, tmp_path: Path) -> None:
        file = boat('name = "Swan"\nsails = false\n', tmp_path)
        error = refusal(file, parse_overrides(["engine.power=1"]))
        assert error.message == "command line: without `sails` the `engine` needs 2 kilowatts."
        error = refusal(NAMED, parse_overrides(["engine.power=1"]), file)
        assert error.message.startswith(f"{file.origin}, line 2: ")

    def test_exit_code(self) -> None:
        assert refusal().exit_code == 2


class TestLines:
    TEXT = 'a = 1\n\n[t]  # a table\nb = 2\n\n[t.u]\n"c" = 3\n[v]\nw.x = 4\ninline = {y = 5}\n'

    @pytest.mark.parametrize(
        ("key", "line"),
        [("a", 1), ("t", 3), ("t.b", 4), ("t.u", 6), ("t.u.c", 7), ("v.w.x", 9), ("v.inline.y", 10), ("zzz", None)],
    )
    def test_line_of(self, key: str, line: int | None) -> None:
        assert line_of(self.TEXT, key.split(".")) == line


class TestWriting:
    def test_plain(self) -> None:
        expected = (
            'name = "Swan"\nlength = 8.0\nsails = true\nratios = [0.5, 2.0]\n\n[engine]\npower = 7\nfuel = "diesel"\n'
        )
        assert to_toml(Boat(name="Swan")) == expected

    def test_comments_describe_every_key_and_show_what_is_not_set(self) -> None:
        lines = to_toml(Boat(name="Swan"), comments=True).splitlines()
        assert "# A boat." in lines
        assert "length = 8.0  # in metres" in lines
        assert "# What drives the boat." in lines
        assert "# maker =  # as on the plate" in lines
        assert "# [spare]  # left out: none aboard" in lines

    @given(
        name=st.text(st.characters(exclude_categories=["Cs"])),
        length=st.floats(allow_nan=False, allow_infinity=False),
        ratios=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
        spare=st.none() | st.builds(Engine, power=st.integers(1, 2**40), maker=st.none() | st.just('a "b"\\\n')),
        comments=st.booleans(),
    )
    def test_reads_back_equal(
        self, name: str, length: float, ratios: list, spare: Engine | None, comments: bool
    ) -> None:
        original = Boat(name=name, length=length, ratios=tuple(ratios), spare=spare)
        layer = Layer("text", tomllib.loads(to_toml(original, comments=comments)))
        assert resolve(Boat, [layer]).config == original


class TestDifferences:
    def test_only_what_differs_in_order(self) -> None:
        left, right = Boat(name="Swan"), Boat(name="Duck", engine=Engine(power=9), spare=Engine(maker="Volvo"))
        assert differences(left, right) == [
            Difference("name", "Swan", "Duck"),
            Difference("engine.power", 7, 9),
            Difference("spare.power", None, 7),
            Difference("spare.fuel", None, "diesel"),
            Difference("spare.maker", None, "Volvo"),
        ]

    def test_of_equals(self) -> None:
        assert differences(Boat(name="Swan"), Boat(name="Swan")) == []
