"""Every system of the attention family on its task, beside its baseline, with several seeds: one command, one table.

    python experiments/family.py --data PATH [--only bahdanau ctc] [--workers 2]

`PATH` holds a folder of each real data set; generated tasks need none. `experiments/family/plan.toml` says what is run.
Runs are kept in `runs/family/`; one that is complete is not trained again, and one that was interrupted goes on, so the
command can be stopped at any time. The table is written anew after every run, from those that are complete.
"""

import argparse
import json
import multiprocessing
import os
import tomllib
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from family_evidence import evidence_of
from family_overlap import overlap_of
from family_table import write_table
from repeat import record

from heedful.errors import HeedfulError
from heedful.pipeline.train import dry_run, train
from heedful.recipe.recipe import load_recipe
from heedful.records.run import Run

HERE = Path(__file__).parent
ROOT = HERE.parent
PLAN = HERE / "family" / "plan.toml"
DONE = "family.json"  # in a run directory: what the table needs of it
PACKAGES = ["matplotlib.pyplot", "heedful.pipeline.train", "heedful.pipeline.load", "heedful.gallery.tables"]


class Planned(NamedTuple):
    """One run."""

    system: dict[str, Any]
    arm: str
    seed: int

    def folder(self, runs: Path) -> Path:
        """Where it is kept."""
        return runs / self.system["key"] / f"{self.arm.replace(' ', '-')}-{self.seed}"

    @property
    def recipe(self) -> str:
        """The recipe: that of the system, or the arm's own."""
        return self.system.get("recipes", {}).get(self.arm, self.system["recipe"])

    def settings(self, data: Path | None) -> list[str]:
        """What differs from the recipe: the arm's settings, the seed, one thread, and where the data are."""
        place = [f"data.folder={json.dumps(str(data / self.system['data']))}"] if data and "data" in self.system else []
        return [*self.recorded, *place]

    @property
    def recorded(self) -> list[str]:
        """The same without the place."""
        common = self.system.get("settings", [])
        return [*common, *self.system["arms"][self.arm], f"seed={self.seed}", "training.threads=1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with local copies of the data sets, a folder each")
    parser.add_argument("--only", nargs="+", help="the keys of these systems only, in this order; the others keep rows")
    parser.add_argument("--runs", type=Path, default=Path("runs/family"), help="the folder of the run directories")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="runs at once, one thread each")
    parser.add_argument("--table", action="store_true", help="train nothing: write the table from complete runs")
    arguments = parser.parse_args()
    plan = read_plan()
    unknown = set(arguments.only or ()) - plan.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are: {', '.join(plan)}")
    failed = 0 if arguments.table else make_runs(plan, arguments)
    update_table(plan, arguments.runs)
    if failed:
        raise SystemExit(f"{failed} runs failed. Mend the cause and give the same command again.")


def make_runs(plan: dict[str, dict[str, Any]], arguments: argparse.Namespace) -> int:
    """Make all runs that are not complete, each in a process of its own; how many failed."""
    wanted = [run for key in arguments.only or plan for run in runs_of(plan[key])]
    missing = [one for one in wanted if not (one.folder(arguments.runs) / DONE).is_file()]
    print(f"{len(wanted)} runs, of which {len(missing)} are to be made", flush=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PACKAGES)  # imported once, not by each run
    failed = 0
    with ProcessPoolExecutor(arguments.workers, context, max_tasks_per_child=1) as pool:
        made = pool.map(partial(attempt, runs=arguments.runs, data=arguments.data), missing)
        for number, (one, problem) in enumerate(zip(missing, made, strict=True), start=1):
            failed += problem is not None
            what = f"{one.system['key']}, {one.arm}, seed {one.seed}"
            print(f"[{number}/{len(missing)}] {what}: {problem or 'done'}", flush=True)
            update_table(plan, arguments.runs)
    return failed


def read_plan() -> dict[str, dict[str, Any]]:
    """The systems by their keys, in order, each with its seeds."""
    plan = tomllib.loads(PLAN.read_text("utf-8"))
    return {system["key"]: {"seeds": plan["seeds"], **system} for system in plan["system"]}


def runs_of(system: dict[str, Any]) -> list[Planned]:
    """All runs of a system, seed by seed: stopped early, each arm has about as many."""
    return [Planned(system, arm, seed) for seed in system["seeds"] for arm in system["arms"]]


def attempt(one: Planned, runs: Path, data: Path | None) -> str | None:
    """Make a run; the words of its error where it failed."""
    try:
        carry_out(one, runs, data)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    return None


def carry_out(one: Planned, runs: Path, data: Path | None) -> None:
    """Train one run, or go on with it, and note what the table needs."""
    folder = one.folder(runs)
    if one.arm in one.system.get("refused", {}):
        be_refused(one, folder, data)
        return
    begun = (folder / "config.resolved.toml").is_file()
    if not (begun and Run.open(folder).state() == "complete"):
        recipe = load_recipe(ROOT / one.recipe, one.settings(data))
        train(recipe, folder, resume=begun)
    noted = {
        **{key: value for key, value in record(folder).items() if key != "curve"},
        "minutes": round(Run.open(folder).read_log("ended")[-1]["seconds"] / 60, 3),
        "run": f"{one.system['key']}, {one.arm}, {one.seed}",
        "system": one.system["key"],
        "arm": one.arm,
        "recipe": one.recipe,
        "overrides": one.recorded,
        "evidence": evidence_of(one.system.get("evidence", {}).get(one.arm, []), folder),
    }
    write_note(folder, noted)


def be_refused(one: Planned, folder: Path, data: Path | None) -> None:
    """Note the words by which an impossible arm is refused before training. Raises SystemExit where it is not."""
    try:
        dry_run(load_recipe(ROOT / one.recipe, one.settings(data)), folder)
    except HeedfulError as error:
        if one.system["refused"][one.arm] in error.message:
            folder.mkdir(parents=True, exist_ok=True)
            noted = {"system": one.system["key"], "arm": one.arm, "seed": one.seed, "refused": error.message}
            write_note(folder, noted)
            return
        raise
    raise SystemExit(f"{one.system['key']}, {one.arm} should be refused, but is not")


def write_note(folder: Path, noted: dict[str, Any]) -> None:
    """Write what the table needs of a run beside it."""
    (folder / DONE).write_text(json.dumps(noted, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_note(folder: Path, plan: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What was noted of a run, with how many of its test items stand in train: counted once for the same data."""
    noted = json.loads((folder / DONE).read_text("utf-8"))
    if "refused" not in noted and "overlap" not in noted and noted["system"] in plan:
        noted["overlap"] = overlap_of(folder, plan[noted["system"]]["metric"])
        write_note(folder, noted)
    return noted


def update_table(plan: dict[str, dict[str, Any]], runs: Path) -> None:
    """Write result.json and table.md from the runs that are complete, those in the last result among them."""
    path = HERE / "family" / "result.json"
    former = json.loads(path.read_text("utf-8")) if path.is_file() else {"runs": [], "refused": []}
    here = [read_note(file.parent, plan) for file in sorted(runs.glob(f"*/*/{DONE}"))]
    found = {row["run"]: row for row in [*former["runs"], *here] if "refused" not in row}
    refused = {(row["system"], row["arm"]): row for row in [*former["refused"], *here] if "refused" in row}
    wanted = [one for system in plan.values() for one in runs_of(system)]
    rows = [row for one in wanted if (row := found.get(name_of(one))) and made_as_planned(row, one)]
    kept = [row for row in refused.values() if row["arm"] in plan.get(row["system"], {}).get("refused", {})]
    command = "python experiments/family.py --data PATH"
    result = {"experiment": "family", "command": command, "refused": kept, "runs": rows}
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_table(plan, rows, kept, HERE / "family")


def name_of(one: Planned) -> str:
    """What a run is called in the result."""
    return f"{one.system['key']}, {one.arm}, {one.seed}"


def made_as_planned(row: dict[str, Any], one: Planned) -> bool:
    """Whether a run of the result has the recipe and the settings that the plan has today."""
    return row["recipe"] == one.recipe and row["overrides"] == one.recorded


if __name__ == "__main__":
    main()
