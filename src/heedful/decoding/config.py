"""Settings of search: one table a method, each setting declared once.

Options of the command line, signatures and the schema of a recipe are made from these fields. A field's `flag` is the
name of its option where it is not that of the field; None where there is none. `only_with` names the choices that a
setting belongs to (see `heedful.sections`).
"""

from abc import ABC
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from heedful.config import Config, Layer, Tree, resolve
from heedful.errors import ConfigError
from heedful.records.signature import describe_settings
from heedful.sections import by_kind, only_with, unused_settings

Precision = Literal["float32", "bfloat16", "int8"]

Tokens = Annotated[int, Field(gt=0, le=1_000_000)]
Outputs = Annotated[int, Field(gt=0, le=1000)]  # hypotheses of a sentence that are kept at once
Temperature = Annotated[float, Field(ge=0.01, le=100)]  # beyond, probabilities are 0, 1 or all alike in float32
Alpha = Annotated[float, Field(ge=0, le=10)]  # ((5 + 1000) / 6)^10 is 10^22: more only overflows
METHOD = "beam | sample | mbr (minimum Bayes risk)"


class SearchConfig(Config, ABC):
    """Settings of search that every method has."""

    method: str = Field(description=METHOD)
    max_extra: Tokens = Field(
        default=50, description="an output has at most source length + max_extra tokens (the paper: 50)"
    )
    max_tokens: Tokens = Field(default=4096, description="padded source tokens times rows in a batch")
    max_source: Tokens = Field(
        default=1024, description="longer inputs are split at sentence ends, else at this many tokens, with a warning"
    )
    precision: Precision = Field(
        default="float32",
        description="dtype of the operands of linear maps; sums and all else are float32",
        json_schema_extra={"flag": None},  # an engine is chosen together with its precision: --engine, --type
    )
    no_repeat_ngram: Outputs | None = Field(
        default=None, description="no n-gram of this order stands in an output twice"
    )
    shortlist: bool = Field(default=False, description="only what `heedful shortlist` found likely for a source")

    def describe(self) -> str:
        """Describe the search in one word for signatures: what had a part in it, the common settings where they are
        not as usual. The method is named unless it is beam search.
        """
        common = ("no_repeat_ngram", "shortlist", "precision")
        usual = {name: type(self).model_fields[name].default for name in common}
        own = set(self.own_settings()) - unused_settings(type(self), self.model_dump())
        named: dict[str, Any] = {name: getattr(self, name) for name in ("max_extra", *own)}
        named |= {name: getattr(self, name) for name in common if getattr(self, name) != usual[name]}
        return describe_settings(named if self.method == "beam" else {**named, "method": self.method})

    @classmethod
    def own_settings(cls) -> list[str]:
        """List the settings that not every method has."""
        return [name for name in cls.model_fields if name not in SearchConfig.model_fields]


class BeamSearch(SearchConfig):
    """The best outputs by beam search; `beam = 1` is greedy search."""

    method: Literal["beam"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="beam", description=METHOD, json_schema_extra={"flag": None}
    )
    beam: Outputs = Field(default=5, description="beams; 1 is greedy search")
    length_penalty: Alpha = Field(
        default=0.6, description="alpha of [Wu 2016, Eq. 14]: log p / ((5 + length) / 6)^alpha"
    )


def _for_candidates(name: str) -> Any:
    """Return a setting of beam search as one that has an effect where beam search finds candidates."""
    field = BeamSearch.model_fields[name]
    effect = only_with({"candidates": ("beam", "both")})
    return Field(default=field.default, description=field.description, json_schema_extra=effect)


class SampleSearch(SearchConfig):
    """Outputs drawn from the model. [Fan 2018; Holtzman 2020; Hewitt 2022]"""

    method: Literal["sample"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="sample", description=METHOD, json_schema_extra={"flag": None}
    )
    temperature: Temperature = Field(default=1.0, description="sample at this temperature, instead of searching")
    top_k: Tokens | None = Field(default=None, description="sample among the k most probable tokens")
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="sample among the fewest tokens with this much probability"
    )
    epsilon: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="sample among the tokens of at least this probability"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default=1, description="seed of sampling")


class MBRSearch(SampleSearch):
    """Minimum Bayes risk: of several candidates the one that samples of the model agree with most. [Eikema 2022]"""

    method: Literal["mbr"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default="mbr", description=METHOD, json_schema_extra={"flag": None}
    )
    samples: Outputs = Field(
        default=32,
        description="of so many samples, the output that the others agree with most",
        json_schema_extra={"flag": "--mbr"},
    )
    candidates: Literal["samples", "beam", "both"] = Field(
        default="samples",
        description="MBR chooses among: the samples, what beam search finds, both",
        json_schema_extra={"flag": "--mbr-candidates"},
    )
    utility: Literal["chrf", "bleu", "edit", "edit-characters"] = Field(
        default="chrf",
        description="MBR measures agreement by: chrf | bleu | edit (of symbols between blanks) | edit-characters",
        json_schema_extra={"flag": "--mbr-utility"},
    )
    beam: Outputs = _for_candidates("beam")
    length_penalty: Alpha = _for_candidates("length_penalty")

    @property
    def beam_search(self) -> BeamSearch:
        """The beam search that finds candidates."""
        shared = {name: getattr(self, name) for name in BeamSearch.model_fields if name != "method"}
        return BeamSearch(**shared)


AnySearch = Annotated[
    Annotated[BeamSearch, Tag("beam")] | Annotated[SampleSearch, Tag("sample")] | Annotated[MBRSearch, Tag("mbr")],
    by_kind("beam", "method"),
]
METHODS: dict[str, type[SearchConfig]] = {"beam": BeamSearch, "sample": SampleSearch, "mbr": MBRSearch}
COMMON_LIMITS = ("method", "max_extra", "max_tokens", "max_source", "precision")
OPENING = {"samples": "mbr", "temperature": "sample", "beam": "beam"}
"""The settings that choose a method where none is named and the present one lacks them."""


def require_beam_search(search: SearchConfig, what: str) -> BeamSearch:
    """Return settings of beam search as what they are. Raises ConfigError for another method, which `what` lacks."""
    if not isinstance(search, BeamSearch):
        raise ConfigError(f'{what} has no `search.method` = "{search.method}".', hint="Use the native engine.")
    return search


def unused_without_decoder(search: SearchConfig, searched: Collection[str] = ()) -> list[str]:
    """List the settings that are not at their defaults and do nothing in an encoder-only model, which searches at most
    with the settings `searched`.
    """
    if not isinstance(search, BeamSearch):
        return ["method"]
    usual, effective = BeamSearch(), {*COMMON_LIMITS, *searched}
    names = [name for name in BeamSearch.model_fields if name not in effective]
    return [name for name in names if getattr(search, name) != getattr(usual, name)]


class _Table(Config):
    """A recipe's table of search alone."""

    search: AnySearch = BeamSearch()


def with_changes(search: SearchConfig, changes: Mapping[str, object]) -> SearchConfig:
    """Return the settings with some changed. A setting of another method than the present one chooses that method where
    it opens it (`temperature`, `samples`, `beam`). Raises ConfigError for a setting that the method does not have.
    """
    present = str(_meant(search.method, changes))
    chosen = METHODS.get(present)
    if chosen is None:
        raise ConfigError(f"`search.method` cannot be {present!r}.", hint=f"It is one of: {', '.join(METHODS)}.")
    foreign = next((key for key in changes if key not in chosen.model_fields and _methods_with(key)), None)
    if foreign is not None:
        owners = " or ".join(f'"{name}"' for name in _methods_with(foreign))
        hint = "Sample by temperature = 1 or samples = N (--temperature 1, --mbr N), or leave it out."
        hint = hint if present == "beam" else "Leave one of them out."
        raise ConfigError(f'`search.{foreign}` is of `search.method` = {owners}, but that is "{present}".', hint=hint)
    kept = carried_over(search.model_dump(), changes)
    return resolve(_Table, [Layer("", {"search": kept}), Layer("", {"search": dict(changes)})]).config.search


def carried_over(table: Tree, changes: Mapping[str, object]) -> Tree:
    """Return what is left of a table of search below changes of it: the method that they mean, and all settings but
    those that had an effect and then have none.
    """
    before, after = table.get("method", "beam"), _meant(table.get("method", "beam"), changes)
    idle = _effective(before, table) - _effective(after, {**table, **changes, "method": after})
    kept = {key: value for key, value in table.items() if key not in idle}
    return kept if after == before else {**kept, "method": after}


def _effective(method: object, table: Mapping[str, object]) -> set[str]:
    """Return the settings of a method that have an effect where the others are these; none of an unknown method."""
    kind = METHODS.get(method) if isinstance(method, str) else None
    return set() if kind is None else kind.model_fields.keys() - unused_settings(kind, table)


def _meant(present: object, changes: Mapping[str, object]) -> object:
    """Return the method that these changes mean: the one that they name, or the present one, unless it lacks a setting
    that another has.
    """
    known = METHODS[present].model_fields if isinstance(present, str) and present in METHODS else OPENING
    opened = next((method for key, method in OPENING.items() if key in changes and key not in known), present)
    return changes.get("method", opened)


def _methods_with(key: str) -> list[str]:
    return [name for name, kind in METHODS.items() if key in kind.model_fields]


def search_of(recipe: Tree, origin: str) -> SearchConfig:
    """Read the `search` table of a stored recipe, and of no other part of it. Raises ConfigError where it does not
    hold.
    """
    return resolve(_Table, [Layer(origin, {"search": upgraded(recipe.get("search", {}))})]).config.search


def upgraded(table: Tree) -> Tree:
    """Return a stored table of search in today's form: before there was `method`, all methods had one flat table."""
    if not isinstance(table, dict) or "method" in table:
        return table
    method = "mbr" if "mbr_samples" in table else "sample" if "temperature" in table else "beam"
    renamed = {key.removeprefix("mbr_"): value for key, value in table.items()}
    idle = {key for key in renamed if _methods_with(key)} - _effective(method, renamed)
    return {"method": method, **{key: value for key, value in renamed.items() if key not in idle}}
