"""What the figures are held against: each aim as a row with the value reached, computed from finished parts.

Knows the names that the parts give to systems; an aim whose part is missing is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from measure import Spread, ratios, spread
from rows import Row

GROUP = "Beside the aims"


class Aim(NamedTuple):
    """A value, and the bound that it should keep."""

    name: str
    value: Spread
    bound: float
    at_least: bool = True

    def row(self) -> Row:
        """The aim as a row; the median decides."""
        met = self.value.median >= self.bound if self.at_least else self.value.median <= self.bound
        word = "at least" if self.at_least else "at most"
        return Row(GROUP, self.name, self.value, None, f"aim: {word} {self.bound:g}; {'met' if met else 'missed'}")


def aims_of(parts: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Rows of all aims that the finished parts can answer."""
    found: list[Aim] = []
    if "training" in parts:
        for size in ("small", "base"):
            if size in parts["training"]["details"]:
                found += training_aims(size, parts["training"]["details"][size]["rounds"])
    if "decoding" in parts:
        found += decoding_aims(parts["decoding"]["details"])
    if "startup" in parts:
        times = parts["startup"]["details"]["seconds"]["heedful translate, one line"]
        found.append(Aim("heedful translate of one line, seconds", spread(times), 2.5, at_least=False))
    return [aim.row() for aim in found]


def training_aims(size: str, rounds: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Aim]:
    """Speed beside the quickest float32 peer of each round, memory beside the leanest, and bfloat16's loss."""
    peers = peers_of(rounds)
    own, exact = rounds.get("Heedful, bfloat16"), rounds.get("Heedful, float32")
    if not own or not exact or not peers:
        return []
    n_rounds = range(len(own))
    speed = [[max(rounds[name][n]["tokens_per_second"] for name in peers)] for n in n_rounds]
    leanest = [min(rounds[name][n]["peak_mb"] for name in peers) for n in n_rounds]
    gap = [sum(a["losses"][-5:]) / sum(b["losses"][-5:]) - 1 for a, b in zip(own, exact, strict=True)]
    return [
        Aim(
            f"{size}: tokens/s, Heedful bfloat16 / the quickest peer",
            ratios([one["tokens_per_second"] for one in own], [one[0] for one in speed]),
            1.6,
        ),
        Aim(
            f"{size}: peak memory, Heedful bfloat16 / the leanest peer",
            ratios([one["peak_mb"] for one in own], leanest),
            1.0,
            at_least=False,
        ),
        Aim(
            f"{size}: loss after equal updates, bfloat16 / float32 - 1",
            spread([abs(one) for one in gap]),
            0.01,
            at_least=False,
        ),
    ]


def peers_of(systems: Iterable[str]) -> list[str]:
    """The systems that are compared with Heedful: without Heedful's own, and without the loop that we tuned by hand."""
    return [name for name in systems if not name.startswith("Heedful") and "trimmed" not in name]


def decoding_aims(details: Mapping[str, Any]) -> list[Aim]:
    """Sentences a second beside fairseq, Hugging Face and CTranslate2, greedy and with beam 5, batches of 64."""
    found = []
    for search, rounds in details["searches"].items():
        speeds = {name: [one["sentences_per_second"] for one in those] for name, those in rounds.items()}
        for own, peer, bound in (
            ("Heedful, float32", "fairseq", 1.5),
            ("Heedful, float32, its own batches", "fairseq", 1.5),
            ("Heedful, float32, its own batches", "Hugging Face generate", 3.0),
            ("Heedful with ctranslate2", "CTranslate2's own script", 1.0),
            ("Heedful with ctranslate2, shortlist", "CTranslate2's own script", 1.3),
        ):
            if own in speeds and peer in speeds:
                found.append(Aim(f"{search}: {own} / {peer}", ratios(speeds[own], speeds[peer]), bound))
        bleu = details["bleu"][search]
        for whole in ("Heedful, float32, its own batches", "Heedful with ctranslate2"):
            if f"{whole}, shortlist" in bleu:
                lost = spread([bleu[whole] - bleu[f"{whole}, shortlist"]])
                found.append(Aim(f"{search}: BLEU that a shortlist costs, {whole}", lost, 0.2, at_least=False))
    return found
