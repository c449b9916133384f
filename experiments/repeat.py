"""Repeat an experiment with one command: train its runs, then write result.json, the table and the curves.

    python experiments/repeat.py multi30k-en-de --data PATH/multi30k
    python experiments/repeat.py sigmorphon2021-g2p --data PATH/sigmorphon2021-g2p [--only kor hun]
    python experiments/repeat.py cmudict

Runs are kept in `runs/NAME/`; one that is complete is not trained again, an interrupted one goes on. Without `--data`,
the data set is downloaded.
"""

import argparse
import csv
import json
import platform
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt

from heedful.cli.progress import TrainingDisplay
from heedful.pipeline.train import train
from heedful.recipe.recipe import load_recipe
from heedful.records.run import Run

HERE = Path(__file__).parent
ROOT = HERE.parent
LANGUAGES: dict[str, tuple[str, ...]] = {  # and what differs from the recipe
    "kor": ("model.dropout=0.2", "training.warmup_steps=300", "training.max_updates=3000"),
    "hun": (),
    "bul": (),
    "geo": (),
    "arm_e": (),
    "vie_hanoi": (),
    "eng_us": ("training.max_updates=5000", "training.validate_every=1000"),
}


class Planned(NamedTuple):
    """One run: its name, the recipe file, and what differs from it."""

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()


EXPERIMENTS: dict[str, tuple[Planned, ...]] = {
    "multi30k-en-de": (Planned("en-de", "multi30k-en-de.toml"),),
    "cmudict": (Planned("cmudict", "cmudict.toml"),),
    "sigmorphon2021-g2p": tuple(
        Planned(name, "sigmorphon2021-g2p.toml", (f"data.catalogue=sigmorphon2021-g2p-{name}", *differences))
        for name, differences in LANGUAGES.items()
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(EXPERIMENTS))
    parser.add_argument("--data", type=Path, help="a local copy of the data set")
    parser.add_argument("--only", nargs="+", help="these runs only; the others keep their rows")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of the run directories")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="differences from the recipes, recorded too")
    arguments = parser.parse_args()
    planned = [one for one in EXPERIMENTS[arguments.name] if not arguments.only or one.name in arguments.only]
    rows = {row["run"]: row for row in former_rows(arguments.name)}
    for one in planned:
        folder = arguments.runs / arguments.name / one.name
        place = [f"data.folder={json.dumps(str(arguments.data))}"] if arguments.data else []
        repeat(folder, one, [*arguments.settings, *place])
        rows[one.name] = {
            **record(folder),
            "recipe": f"recipes/{one.recipe}",
            "overrides": [*one.overrides, *arguments.settings],
        }
        write(arguments.name, [rows[run.name] for run in EXPERIMENTS[arguments.name] if run.name in rows])


def repeat(folder: Path, planned: Planned, settings: list[str]) -> None:
    """Train one run, go on with it, or leave it as it is where it is complete."""
    begun = (folder / "config.resolved.toml").is_file()
    if begun and Run.open(folder).state() == "complete":
        return
    recipe = load_recipe(ROOT / "recipes" / planned.recipe, [*planned.overrides, *settings])
    with TrainingDisplay(recipe.training.max_updates, recipe.training.max_minutes) as display:
        train(recipe, folder, resume=begun, report=display)


def record(folder: Path) -> dict[str, Any]:
    """What is worth keeping of a run."""
    run = Run.open(folder)
    ended = run.read_log("ended")[-1]
    environment = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
    scores = [row._asdict() for row in run.read_results() if row.signature]
    validations = run.read_log("validation")
    return {
        "run": folder.name,
        "seed": run.config()["seed"],
        "parameters": run.read_log("preflight")[0]["parameters"],
        "updates": ended["update"],
        "minutes": round(ended["seconds"] / 60, 1),
        "threads": run.config()["training"].get("threads", environment.get("cores")),
        "precision": run.config()["training"]["precision"],
        "machine": environment.get("cpu", platform.processor()),
        "scores": [
            {key: row[key] for key in ("split", "metric", "value", "ci_low", "ci_high", "n", "signature")}
            for row in scores
        ],
        "curve": [{key: value for key, value in one.items() if key not in ("time", "event")} for one in validations],
    }


def former_rows(name: str) -> list[dict[str, Any]]:
    path = HERE / name / "result.json"
    return json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """result.json, table.md and one curve a run."""
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    curves = {row["run"]: row["curve"] for row in rows if "curve" in row}
    kept = [{key: value for key, value in row.items() if key != "curve"} for row in rows]
    result = {"experiment": name, "command": f"python experiments/repeat.py {name} --data PATH", "runs": kept}
    (folder / "result.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "table.md").write_text("\n".join(table(kept)) + "\n", encoding="utf-8")
    draw(folder / "curves.svg", curves)
    for run, curve in curves.items():
        with (folder / f"curve.{run}.csv").open("w", encoding="utf-8", newline="") as file:
            columns = [key for key in curve[0] if key not in ("best", "validation_seconds")]
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(curve)


def draw(path: Path, curves: dict[str, list[dict[str, Any]]]) -> None:
    """The first decoded metric (or the loss) of every run over minutes of training."""
    plt.rcParams["svg.hashsalt"] = "heedful"  # the same curves, the same file
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    known = ("update", "seconds", "best", "loss", "perplexity", "tokens", "sentences", "validation_seconds")
    metric = next((key for curve in curves.values() for key in curve[0] if key not in known), "loss")
    for run, curve in curves.items():
        axes.plot([one["seconds"] / 60 for one in curve], [one[metric] for one in curve], marker=".", label=run)
    axes.set(xlabel="minutes of training", ylabel=f"dev {metric}, decoded as in validations")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The final scores as Markdown, a run a line."""
    metrics = list(dict.fromkeys(score["metric"] for row in rows for score in row["scores"]))
    heading = ["run", "split", "n", *metrics, "updates", "minutes", "threads", "parameters", "seed"]
    lines = [" | ".join(["", *heading, ""]).strip(), "|" + "---|" * len(heading)]
    for row in rows:
        scores = {score["metric"]: score for score in row["scores"]}
        shown = [
            f"{s['value']:.2f} [{s['ci_low']:.2f}, {s['ci_high']:.2f}]" if (s := scores.get(m)) else "" for m in metrics
        ]
        first = row["scores"][0]
        cells = [
            row["run"],
            first["split"],
            first["n"],
            *shown,
            row["updates"],
            row["minutes"],
            row["threads"],
            row["parameters"],
        ]
        lines.append("| " + " | ".join(map(str, [*cells, row["seed"]])) + " |")
    return lines


if __name__ == "__main__":
    main()
