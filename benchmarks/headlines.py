"""The rows of README: the few figures of the whole table that say most, each beside the best of what it is compared to.

Computed from finished parts; a row whose part is missing is left out. Knows the names that the parts give to systems.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aims import peers_of
from measure import Spread, ratios, spread
from rows import Row, number

TRAINING = {"small": "training, 3+3 layers, d 256", "base": "training, paper-base: 6+6 layers, d 512"}
OWN_TRAINING, TUNED = "Heedful, bfloat16", "torch.nn.Transformer loop, trimmed, bfloat16"
DECODING = (
    ("Heedful, float32, its own batches", "fairseq"),
    ("Heedful with ctranslate2", "CTranslate2's own script"),
)
STARTUP = ("heedful translate, one line", "python -c 'from transformers import MarianMTModel'")
TO_BLEU = ("Heedful", "Marian C++")


class Side(NamedTuple):
    """A system and its figure."""

    system: str
    figure: Spread


class Headline(NamedTuple):
    """A figure of Heedful beside that of another system. `ratio` is more than 1 in Heedful's favour, round by round."""

    what: str  # what is measured, with its unit
    own: Side
    other: Side
    ratio: Spread | None
    note: str = ""


def headlines_of(parts: Mapping[str, Mapping[str, Any]], to_bleu: Sequence[Row]) -> list[Headline]:
    """Return the rows that the finished parts, and the stored rows of time_to_bleu.py, can answer."""
    found: list[Headline] = []
    if "training" in parts:
        details = parts["training"]["details"]
        found += [_training(size, details[size]["rounds"]) for size in TRAINING if size in details]
    if "decoding" in parts:
        details = parts["decoding"]["details"]
        for search, rounds in details["searches"].items():
            found += [_decoding(search, rounds, details["bleu"][search], *pair) for pair in DECODING]
    if "startup" in parts:
        found.append(_startup(parts["startup"]["details"]["seconds"]))
    return [*filter(None, found), *_time_to_bleu(to_bleu)]


def headline_table(headlines: Sequence[Headline]) -> str:
    """Write Markdown: medians, and the ratio with its smallest and largest round."""
    lines = ["| | Heedful | beside it | ratio | |", "|---|---|---|---|---|"]
    for what, own, other, ratio, note in headlines:
        sides = " | ".join(f"{_figure(side)} ({side.system})" for side in (own, other))
        lines.append(f"| {what} | {sides} | {_ratio(ratio)} | {note} |")
    return "\n".join(lines)


def _training(size: str, rounds: Mapping[str, Sequence[Mapping[str, Any]]]) -> Headline | None:
    speeds = {name: [one["tokens_per_second"] for one in those] for name, those in rounds.items()}
    peers = peers_of(speeds)
    if OWN_TRAINING not in speeds or not peers:
        return None
    quickest = max(peers, key=lambda name: spread(speeds[name]).median)
    own = speeds[OWN_TRAINING]
    tuned = f"{ratios(own, speeds[TUNED]).median:.2f} beside {TUNED}" if TUNED in speeds else ""
    sides = Side(OWN_TRAINING, spread(own)), Side(f"{quickest}, float32", spread(speeds[quickest]))
    return Headline(f"{TRAINING[size]}, target tokens/s", *sides, ratios(own, speeds[quickest]), tuned)


def _decoding(
    search: str, rounds: Mapping[str, Sequence[Mapping[str, Any]]], bleu: Mapping[str, float], own: str, other: str
) -> Headline | None:
    if own not in rounds or other not in rounds:
        return None
    ours, theirs = ([one["sentences_per_second"] for one in rounds[name]] for name in (own, other))
    note = f"BLEU {bleu[own]:.2f} and {bleu[other]:.2f}"
    sides = Side(own, spread(ours)), Side(other, spread(theirs))
    return Headline(f"decoding, {search}, sentences/s", *sides, ratios(ours, theirs), note)


def _startup(seconds: Mapping[str, Sequence[float]]) -> Headline | None:
    own, other = STARTUP
    if other not in seconds:
        return None
    sides = Side(own, spread(seconds[own])), Side(other, spread(seconds[other]))
    return Headline("start-up of a process, seconds", *sides, ratios(seconds[other], seconds[own]), "the import alone")


def _time_to_bleu(rows: Sequence[Row]) -> list[Headline]:
    named = {row.system: row for row in rows}
    if not set(TO_BLEU) <= named.keys():
        return []
    own, other = (named[name] for name in TO_BLEU)
    sides = Side(own.system, own.figure), Side(other.system, other.figure)
    what = own.group.split(" (")[0].replace("Time", "time")
    return [Headline(what, *sides, None, "multi-BLEU of test_2016")]


def _figure(side: Side) -> str:
    return number(side.figure.median)


def _ratio(ratio: Spread | None) -> str:
    return "" if ratio is None else f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
