"""The facts of a report, in words: data, recipe and machine of a run, with rounded numbers, units and dates.

Reads the records of the run; what it has no words for is shown under its key, spelt with blanks.
"""

import datetime
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from heedful.config import flatten
from heedful.datasets.catalogue import get, published_names
from heedful.datasets.synthetic_tasks import CORE_TASKS
from heedful.evaluation.curves import shown
from heedful.evaluation.report_html import Fact
from heedful.records.run import Run

Words = Callable[[Any], str]

DIGEST = re.compile(r"[0-9a-f]{32,}")  # of which a reader needs the beginning


def origin_facts(run: Run) -> list[Fact]:
    """Return what the data are: of a named set what the catalogue says, else the files."""
    data = flatten(run.config().get("data", {}))
    name = data.get("catalogue")
    if name not in [*published_names(), *CORE_TASKS]:
        return _told({key: data[key] for key in _FILES if data.get(key) not in (None, False)}, _FILES)
    about = get(name).about
    folder = [Fact("local copy", str(data["folder"]))] if data.get("folder") else []
    return [
        Fact("data set", about.name),
        Fact("what it is", about.description),
        Fact("licence", about.licence),
        Fact("languages", f"{about.source_language} → {about.target_language}"),
        *folder,
    ]


def preparation_facts(run: Run) -> list[Fact]:
    """Return what preparing the data kept and left out."""
    data = flatten(run.config().get("data", {}))
    limits = {key: data[key] for key in ("max_length", "allow_overlap") if data.get(key) not in (None, False)}
    logged = _logged(run, "prepared")
    fingerprint = logged.pop("data_fingerprint", None)
    facts = _told({**logged, **limits}, _PREPARED)
    if fingerprint:
        facts.append(Fact("fingerprint of the training data", str(fingerprint)[:12], str(fingerprint)))
    return facts


def model_facts(run: Run) -> list[Fact]:
    """Return what the model is made of, as far as one asks first; all stands in the resolved recipe."""
    return _chosen(run, _MODEL)


def training_facts(run: Run) -> list[Fact]:
    """Return how it was trained and is searched, as far as one asks first."""
    return _chosen(run, _TRAINING)


def _chosen(run: Run, words: Mapping[str, tuple[str, Words]]) -> list[Fact]:
    config = flatten(run.config())
    return _told({key: config[key] for key in words if key in config}, words)


def preflight_facts(run: Run) -> list[Fact]:
    """Return what was measured before the first update: sizes, memory, disk, loss."""
    logged = _logged(run, "preflight")
    return _told({key: value for key, value in logged.items() if key not in _NOT_SAID}, _PREFLIGHT)


def machine_facts(run: Run) -> list[Fact]:
    """Return where, when and by which command the run began."""
    told = {key: value for key, value in run.environment().items() if key not in ("packages", "begun_in")}
    return _told(flatten(told), _MACHINE)


def package_facts(run: Run) -> list[Fact]:
    """Return the versions of the packages that the run began with."""
    return [Fact(name, str(version)) for name, version in run.environment().get("packages", {}).items()]


def began(run: Run) -> str:
    """Return the day on which the run began, in words; "" where no record says it."""
    time = run.environment().get("time")
    return _date(time).partition(",")[0] if time else ""


def duration(minutes: float) -> str:
    """Return a time in the unit that suits it: "41 seconds", "4.5 minutes", "3.2 hours"."""
    if minutes < 1:
        return f"{round(60 * minutes)} seconds"
    if minutes < 90:
        return f"{minutes:.1f} minutes"
    return f"{minutes / 60:.1f} hours"


def _logged(run: Run, event: str) -> dict[str, Any]:
    """Flatten the facts of the last event of a name."""
    last = run.read_log(event)[-1:]
    return {key: value for line in last for key, value in flatten(line).items() if key not in ("time", "event")}


def _told(values: Mapping[str, Any], words: Mapping[str, tuple[str, Words]]) -> list[Fact]:
    """Put each value under its label, formatted by its kind; empty ones are left out."""
    facts = []
    for key, value in values.items():
        if value is None or value in ("", [], {}):
            continue
        label, write = words.get(key, (key.replace("_", " ").replace(".", ": "), _plain))
        facts.append(Fact(label, write(value)))
    return facts


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return shown(value)
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    text = str(value)
    return text[:12] if DIGEST.fullmatch(text) else text


def _counted(unit: str) -> Words:
    return lambda value: f"{_plain(value)} {unit}"


def _percent(value: Any) -> str:
    return f"{100 * value:.1f} %"


def _bytes(value: Any) -> str:
    """Format a size in units of a thousand: "242 MB"."""
    size, units = float(value), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.3g} {units[0]}" if size < 1000 else f"{size:,.0f} {units[0]}"


def _date(value: Any) -> str:
    """Format a moment in words: "1 December 2026, 00:10 UTC"; what is no moment stays as it is."""
    try:
        time = datetime.datetime.fromisoformat(str(value))
    except ValueError:
        return str(value)
    return f"{time.day} {time:%B %Y, %H:%M} {time.tzname() or ''}".strip()


def _files(value: Any) -> str:
    return ", ".join(Path(path).name for path in value)


def _command(value: Any) -> str:
    program, *words = map(str, value)
    return shlex.join(["heedful" if Path(program).name in {"heedful", "app.py", "__main__.py"} else program, *words])


def _shape(value: Any) -> str:
    return f"{value[0]:,} × {value[1]:,} tokens" if len(value) == 2 else " × ".join(map(str, value))


def _gold(value: Any) -> str:
    return ", ".join(f"{share:.2f} at update {update:,}" for update, share in value)


_FILES: dict[str, tuple[str, Words]] = {
    "catalogue": ("data set", _plain),
    "train": ("training", _files),
    "dev": ("validation", _files),
    "test": ("test", _files),
    "source_column": ("column of the source", _plain),
    "target_column": ("column of the target", _plain),
}
_PREPARED: dict[str, tuple[str, Words]] = {
    "train_pairs": ("pairs trained on", _plain),
    "dev_pairs": ("pairs for validation", _plain),
    "dropped.empty": ("left out: a side is empty", _counted("pairs")),
    "dropped.too long": ("left out: a side is too long", _counted("pairs")),
    "source_size": ("source vocabulary", _counted("symbols")),
    "target_size": ("target vocabulary", _counted("symbols")),
    "max_length": ("longest side allowed", _counted("tokens")),
    "allow_overlap": ("training and test may overlap", _plain),
}
_MODEL: dict[str, tuple[str, Words]] = {
    "preset": ("preset", _plain),
    "model.kind": ("kind", _plain),
    "model.n_encoder_layers": ("encoder layers", _plain),
    "model.n_decoder_layers": ("decoder layers", _plain),
    "model.d_model": ("width", _plain),
    "model.d_hidden": ("width of hidden states", _plain),
    "model.n_heads": ("attention heads", _plain),
    "model.d_ff": ("width of feed-forward layers", _plain),
    "model.dropout": ("dropout", _plain),
    "tokenizer.source.kind": ("source tokens", _plain),
    "tokenizer.target.kind": ("target tokens", _plain),
    "search.beam": ("beams", _plain),
    "search.length_penalty": ("length penalty", _plain),
}
_TRAINING: dict[str, tuple[str, Words]] = {
    "seed": ("seed", str),
    "training.max_updates": ("updates, at most", _plain),
    "training.max_minutes": ("time, at most", lambda value: duration(float(value))),
    "training.max_tokens": ("batch, at most", _counted("tokens")),
    "training.learning_rate": ("highest learning rate", _plain),
    "training.warmup_steps": ("warm-up", _counted("updates")),
    "training.schedule": ("schedule of the learning rate", _plain),
    "training.label_smoothing": ("label smoothing", _plain),
    "training.clip_norm": ("gradients clipped to norm", _plain),
    "training.precision": ("precision", _plain),
    "training.average_last": ("checkpoints averaged", _plain),
}
_NOT_SAID = ("shapes.src_mask", "shapes.tgt_in")  # as large as those beside them
_PREFLIGHT: dict[str, tuple[str, Words]] = {
    "parameters": ("parameters", _plain),
    "batches_per_epoch": ("batches an epoch", _plain),
    "padding_share": ("padding in batches", _percent),
    "shapes.src": ("largest batch, source", _shape),
    "shapes.tgt_out": ("largest batch, target", _shape),
    "loss": ("loss before training", _counted("nats a token")),
    "memory_bytes": ("memory, estimated", _bytes),
    "disk_bytes": ("disk for checkpoints", _bytes),
    "disk_free": ("free disk at the start", _bytes),
    "p_gold": ("share of gold tokens", _gold),
}
_MACHINE: dict[str, tuple[str, Words]] = {
    "command": ("command", _command),
    "time": ("begun", _date),
    "python": ("Python", _plain),
    "platform": ("system", _plain),
    "cpu": ("processor", _plain),
    "cores": ("cores", _plain),
    "memory_gb": ("memory", _counted("GB")),
    "git.commit": ("commit of the folder", lambda value: str(value)[:12]),
    "git.changed": ("files changed since that commit", _plain),
}
