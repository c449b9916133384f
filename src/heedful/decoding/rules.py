"""Requests of search from the rules that a user sets for the output of a line; rules that cannot be met are refused.

Knows texts, tokenisers and lengths, no model and no search.
"""

from collections.abc import Sequence
from typing import NamedTuple, final

import torch
from torch import Tensor

from heedful.decoding.config import SampleSearch, SearchConfig
from heedful.decoding.constraints import MOST_PHRASES, fewest_tokens
from heedful.decoding.forbidden import BANNED, START, PieceParts, forbidding, units_of
from heedful.decoding.search import Request
from heedful.errors import ConfigError, HeedfulError
from heedful.text.interface import Tokenizer
from heedful.text.normalise import is_blank
from heedful.text.vocabulary import UNK


class OutputRules(NamedTuple):
    """Rules on the text of an output: required, forbidden, and prefix texts.

    A phrase is read as the tokeniser reads it: from the beginning of a word on, with its case.
    """

    require: Sequence[str] = ()
    forbid: Sequence[str] = ()


@final
class RequestBuilder:
    """Builder of requests from the rules of a line. Raises ConfigError, naming the line, for rules that no output can
    meet, and HeedfulError for rules that only the length of this line makes impossible.

    In sampling UNK is always forbidden, as it has some probability at every position.
    """

    def __init__(self, tokenizer: Tokenizer, search: SearchConfig, readable: int | None) -> None:
        """Prepare the builder; `readable` is the most tokens, with BOS, that the model can read of a target."""
        self._tokenizer, self._search, self._readable = tokenizer, search, readable
        self._units: PieceParts | None = None
        self._automata: dict[tuple[str, ...], Tensor] = {}

    def __call__(self, place: str, length: int, prefix: str, rules: OutputRules, parts: int) -> Request:
        """Build the request for a source of `length` tokens, one of `parts` of a line, which errors call `place`."""
        if parts > 1 and (rules.require or rules.forbid):
            hint = "Give its sentences a line each, or raise search.max_source."
            raise HeedfulError(f"{place} is translated in {parts} parts, so it can have no phrases.", hint=hint)
        ids = self._written(prefix, place)
        wanted = length + self._search.max_extra
        if len(ids) > wanted:
            hint = "Shorten it, or raise search.max_extra."
            message = f"{place}: the prefix has {len(ids)} tokens, but an output at most {wanted}."
            raise HeedfulError(message, hint=hint)
        longest = max(len(ids), wanted if self._readable is None else min(wanted, self._readable - 1))
        required = [self._phrase(text, place) for text in rules.require]
        request = Request(
            longest, ids, required, self._forbidden(rules.forbid, place), self._search.no_repeat_ngram or 0
        )
        self._check_required(request, place)
        self._check_contradictions(request, prefix, rules, place)
        return request

    def _phrase(self, text: str, place: str) -> list[int]:
        return self._written(_not_blank(text, place), place)

    def _written(self, text: str, place: str) -> list[int]:
        ids = self._tokenizer.encode(text)
        if UNK in ids:
            hint = "Write it with symbols of the training data."
            raise ConfigError(f"{place}: this model cannot write {text!r}: it lacks a symbol of it.", hint=hint)
        return ids

    def _forbidden(self, texts: Sequence[str], place: str) -> Tensor | None:
        key = tuple(_not_blank(text, place) for text in texts)
        if not key and not isinstance(self._search, SampleSearch):
            return None
        if key not in self._automata:
            self._automata[key] = self._automaton(key)
        return self._automata[key]

    def _automaton(self, texts: tuple[str, ...]) -> Tensor:
        if texts:
            self._units = self._units or units_of(self._tokenizer)
            table = forbidding(texts, self._tokenizer, self._units)
        else:
            table = torch.zeros(1, len(self._tokenizer), dtype=torch.long)
        if isinstance(self._search, SampleSearch):
            table[:, UNK] = BANNED
        return table

    def _check_required(self, request: Request, place: str) -> None:
        if not request.required:
            return
        if self._search.method != "beam":
            hint = 'Search by method = "beam", or leave out the phrases.'
            raise ConfigError("Required phrases need beam search: samples cannot be made to hold them.", hint=hint)
        if request.no_repeat:
            hint = "Leave out one of them."
            raise ConfigError("Required phrases and no_repeat_ngram exclude each other.", hint=hint)
        if len({tuple(phrase) for phrase in request.required}) > MOST_PHRASES:
            message = f"{place} requires {len(request.required)} phrases, but may require {MOST_PHRASES}."
            raise ConfigError(message, hint="Leave some out, or join neighbours into longer ones.")
        fewest = fewest_tokens(request.required, request.prefix)
        if fewest > request.max_length:
            message = f"{place}: its phrases need {fewest} tokens, but an output has at most {request.max_length}."
            raise HeedfulError(message, hint="Leave some out, or raise search.max_extra.")

    def _check_contradictions(self, request: Request, prefix: str, rules: OutputRules, place: str) -> None:
        if request.forbidden is None:
            return
        asked = [*zip(rules.require, request.required, strict=True), (prefix, request.prefix)]
        for text, ids in asked:
            state = START
            for token in ids:
                state = int(request.forbidden[state, token])
                if state == BANNED:
                    message = f"{place}: {text!r} is asked for, but holds a forbidden phrase."
                    raise ConfigError(message, hint="Take one of the two back.")


def _not_blank(text: str, place: str) -> str:
    if is_blank(text):
        raise ConfigError(f"{place}: a phrase is blank.", hint="Leave it out; a phrase needs at least one symbol.")
    return text
