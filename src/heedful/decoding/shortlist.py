"""Lexical shortlists: the few target ids that are candidates for a sentence, to which the output layer is restricted.

Knows ids, no model and no text. B sentences, V vocabulary, U ids that are candidates for some sentence of a batch.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, final

import tomlkit
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heedful.config import read_toml
from heedful.decoding.search import Hypothesis, Request, Step
from heedful.errors import HeedfulError
from heedful.models.interface import State
from heedful.models.weights import read_tensors, write_tensors
from heedful.records.checksums import check_file, checksum
from heedful.text.atomic_files import write_text
from heedful.text.tokenizer import Tokenizers
from heedful.text.vocabulary import PAD, SPECIALS

FORMAT = 1
TABLE, FACTS = "shortlist.safetensors", "shortlist.toml"


class Shortlist(NamedTuple):
    """Shortlist: the target ids that are candidates for each source id, and those that are always candidates."""

    likely: Int[Tensor, "V_source k"]  # the k most likely targets of each source id, best first; -1 where fewer
    always: Int[Tensor, " m"]  # the special ids and the most frequent ones, ascending
    target_size: int

    def candidates(self, source: int) -> list[int]:
        """Return the targets of one source id, best first, without those that are always candidates."""
        fixed = set(self.always.tolist())
        return [target for target in self.likely[source].tolist() if target >= 0 and target not in fixed]

    def allowed(self, source: Sequence[int]) -> Bool[Tensor, " V"]:
        """Mark the target ids that a source may need."""
        allowed = torch.zeros(self.target_size, dtype=torch.bool)
        allowed[self.always] = True
        allowed[self.likely[list(source)].flatten().clamp(min=PAD)] = True  # -1 becomes a special id
        return allowed

    def narrow(self, sources: Sequence[Sequence[int]], requests: Sequence[Request]) -> "ShortlistVocabulary":
        """Collect the ids that each of these sentences may emit: its own candidates, and those that its request needs.

        [L'Hostis 2016; Jean 2015, 3.3] It does not depend on the other sentences of the batch.
        """
        allowed = torch.stack([self.allowed(source) for source in sources])
        for row, request in enumerate(requests):
            allowed[row, [*request.prefix, *(token for phrase in request.required for token in phrase)]] = True
        ids = allowed.any(dim=0).nonzero()[:, 0]
        return ShortlistVocabulary(ids, allowed[:, ids])


class ShortlistVocabulary(NamedTuple):
    """A vocabulary of U ids for one batch. The special ids keep their numbers, so search need not know of it."""

    ids: Int[Tensor, " U"]  # ascending; the first are the special ids
    allowed: Bool[Tensor, "B U"]

    def renumbered(self, requests: Sequence[Request]) -> list[Request]:
        """Return the requests with their ids in the numbering of this vocabulary."""
        number_of = {token: number for number, token in enumerate(self.ids.tolist())}
        return [
            request._replace(
                prefix=[number_of[token] for token in request.prefix],
                required=[[number_of[token] for token in phrase] for phrase in request.required],
                forbidden=None if request.forbidden is None else request.forbidden[:, self.ids],
            )
            for request in requests
        ]

    def restored(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses with their ids in the numbering of the whole vocabulary."""
        ids = self.ids.tolist()
        return [one._replace(ids=[ids[number] for number in one.ids]) for one in hypotheses]

    def start(self, state: State, beams: int) -> "ShortlistState":
        """Return the start state of a model, together with the ids that each of its sentences may emit."""
        return ShortlistState(state, self.allowed.to(state.device), beams)

    def step(
        self, model_step: Callable[[State, Tensor], tuple[Tensor, State]], logits: Callable[[Tensor], Tensor]
    ) -> Step:
        """Make a step function over this vocabulary from a model's step and its output layer over `ids`; all on one
        device.
        """

        ids = self.ids

        def step(state: State, tokens: Tensor) -> tuple[Tensor, State]:
            assert isinstance(state, ShortlistState)
            hidden, after = model_step(state.inner, ids[tokens])
            mask = state.allowed.repeat_interleave(state.beams, dim=0)
            return logits(hidden).masked_fill(~mask, float("-inf")), state.after(after)

        return step


@final
class ShortlistState(State):
    """A model's state, and the ids that each sentence may emit."""

    def __init__(self, inner: State, allowed: Bool[Tensor, "B U"], beams: int) -> None:
        self.inner, self.allowed, self.beams = inner, allowed, beams

    @property
    def device(self) -> torch.device:
        return self.inner.device

    def after(self, inner: State) -> "ShortlistState":
        """Return the state of the same sentences after a step."""
        return ShortlistState(inner, self.allowed, self.beams)

    def reorder(self, rows: Int[Tensor, " N"]) -> "ShortlistState":
        inner, sentences = self.inner.reorder(rows), rows.view(-1, self.beams)[:, 0] // self.beams
        if len(sentences) == len(self.allowed):  # beams moved within their sentences only
            return self.after(inner)
        return ShortlistState(inner, self.allowed[sentences], self.beams)


def shortlist_of(likely: Int[Tensor, "V_source k"], frequent: Sequence[int], target_size: int) -> Shortlist:
    """Make a shortlist of a table of likely targets and of ids that are always candidates."""
    always = sorted({*range(len(SPECIALS)), *frequent})
    return Shortlist(likely, torch.tensor(always), target_size)


def vocabulary_map(shortlist: Shortlist, source: Sequence[str], target: Sequence[str]) -> list[str]:
    """Write the table in CTranslate2's format: a source symbol, a tab, and its targets between blanks.

    `source` and `target` are the symbols of all ids, in their order; the line of the empty symbol holds what is always
    a candidate. Raises ValueError for a symbol with a blank, a tab or a line break, which the format cannot hold.
    """
    for symbol in (*source, *target):
        if not symbol or set(symbol) & set(" \t\n\r"):
            raise ValueError(f"A vocabulary map cannot hold the symbol {symbol!r}.")
    always: list[int] = shortlist.always.tolist()
    lines = ["\t" + " ".join(target[index] for index in always)]
    for index, symbol in enumerate(source):
        candidates = shortlist.candidates(index)
        lines += [f"{symbol}\t{' '.join(target[candidate] for candidate in candidates)}"] if candidates else []
    return lines


def save_shortlist(folder: Path, shortlist: Shortlist, tokenizers: Tokenizers) -> None:
    """Write `shortlist.safetensors` and `shortlist.toml` into a folder that is being made."""
    write_shortlist(folder / TABLE, folder / FACTS, shortlist, tokenizers)


def write_shortlist(table: Path, facts: Path, shortlist: Shortlist, tokenizers: Tokenizers) -> None:
    """Write the table of a shortlist, and the facts about it, as two files.

    Raises CannotWrite where the system refuses.
    """
    write_tensors(table, {"likely": shortlist.likely.int(), "always": shortlist.always.int()})
    write_text(facts, tomlkit.dumps({**_facts(tokenizers), "sha256": checksum(table)}))


def load_shortlist(folder: Path, tokenizers: Tokenizers) -> Shortlist | None:
    """Read the shortlist of a bundle; None where it has none.

    Raises HeedfulError for one of other tokenisers, and for a table that is not as it was written.
    """
    if not (folder / FACTS).is_file():
        return None
    facts, hint = read_toml(folder / FACTS).values, "Make it again: heedful shortlist RUN."
    digest = facts.pop("sha256", None)  # earlier versions wrote none
    if facts != _facts(tokenizers):
        raise HeedfulError(f"{folder / FACTS} is of other tokenizers, or of another version.", hint=hint)
    if digest is not None:
        check_file(folder / TABLE, str(digest), hint)
    tensors = read_tensors(folder / TABLE)
    return Shortlist(tensors["likely"].long(), tensors["always"].long(), len(tokenizers.target))


def _facts(tokenizers: Tokenizers) -> dict[str, object]:
    prints = {"source": tokenizers.source.fingerprint, "target": tokenizers.target.fingerprint}
    return {"format": FORMAT, "tokenizers": prints}
