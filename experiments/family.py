"""Every system of the attention family on its task, beside its baseline, with several seeds: one command, one table.

    python experiments/family.py --data PATH [--only bahdanau ctc] [--workers 2]

`PATH` holds a folder of each real data set; generated tasks need none. `experiments/family/plan.toml` says what is run.
Runs are kept in `runs/family/`; one that is complete is not trained again, and one that was interrupted goes on, so the
command can be stopped at any time. The table is written anew after every run, from those that are complete.
"""

import argparse
import json
import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from family_evidence import evidence_of
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
    parser.add_argument("--only", nargs="+", help="the keys of these systems only; the others keep their rows")
    parser.add_argument("--runs", type=Path, default=Path("runs/family"), help="the folder of the run directories")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="runs at once, one thread each")
    parser.add_argument("--seeds", type=int, default=3, help="of the system and of its named baseline")
    parser.add_argument("--peer-seeds", type=int, default=1, help="of the arms beside them")
    parser.add_argument("--one", nargs=3, metavar=("SYSTEM", "ARM", "SEED"), help="only this run, in this process")
    arguments = parser.parse_args()
    plan = read_plan()
    if arguments.one:
        key, arm, seed = arguments.one
        carry_out(Planned(plan[key], arm, int(seed)), arguments.runs, arguments.data)
        return
    unknown = set(arguments.only or ()) - plan.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are: {', '.join(plan)}")
    wanted = [
        Planned(system, arm, seed)
        for seed in range(1, max(arguments.seeds, arguments.peer_seeds) + 1)
        for system in plan.values()
        if not arguments.only or system["key"] in arguments.only
        for number, arm in enumerate(system["arms"])
        if seed <= (arguments.seeds if number < 2 else arguments.peer_seeds)
    ]
    missing = [one for one in wanted if not (one.folder(arguments.runs) / DONE).is_file()]
    print(f"{len(wanted)} runs, of which {len(missing)} are to be made", flush=True)
    with ThreadPoolExecutor(arguments.workers) as pool:
        failed = 0
        for number, (one, problem) in enumerate(pool.map(partial(attempt, arguments=arguments), missing), start=1):
            failed += problem is not None
            print(
                f"[{number}/{len(missing)}] {one.system['key']}, {one.arm}, seed {one.seed}: {problem or 'done'}",
                flush=True,
            )
            update_table(plan, arguments.runs)
    update_table(plan, arguments.runs)
    if failed:
        raise SystemExit(f"{failed} runs failed. Mend the cause and give the same command again.")


def read_plan() -> dict[str, dict[str, Any]]:
    """The systems by their keys, in order."""
    return {system["key"]: system for system in tomllib.loads(PLAN.read_text("utf-8"))["system"]}


def attempt(one: Planned, arguments: argparse.Namespace) -> tuple[Planned, str | None]:
    """Make a run in a process of its own; the last line of its error where it failed."""
    place = ["--data", str(arguments.data)] if arguments.data else []
    which = ["--one", one.system["key"], one.arm, str(one.seed), "--runs", str(arguments.runs), *place]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    made = subprocess.run(
        [sys.executable, __file__, *which], env=environment, capture_output=True, text=True, check=False
    )
    if made.returncode == 0:
        return one, None
    return one, (made.stderr.strip().splitlines() or ["failed without a word"])[-1]


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
        "run": f"{one.system['key']}, {one.arm}, {one.seed}",
        "system": one.system["key"],
        "arm": one.arm,
        "recipe": one.recipe,
        "overrides": one.recorded,
        "evidence": evidence_of(one.system.get("evidence", {}).get(one.arm, []), folder),
    }
    (folder / DONE).write_text(json.dumps(noted, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def be_refused(one: Planned, folder: Path, data: Path | None) -> None:
    """Note the words by which an impossible arm is refused before training. Raises SystemExit where it is not."""
    try:
        dry_run(load_recipe(ROOT / one.recipe, one.settings(data)), folder)
    except HeedfulError as error:
        if one.system["refused"][one.arm] in error.message:
            folder.mkdir(parents=True, exist_ok=True)
            noted = {"system": one.system["key"], "arm": one.arm, "seed": one.seed, "refused": error.message}
            (folder / DONE).write_text(json.dumps(noted, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            return
        raise
    raise SystemExit(f"{one.system['key']}, {one.arm} should be refused, but is not")


def update_table(plan: dict[str, dict[str, Any]], runs: Path) -> None:
    """Write result.json and table.md from the runs that are complete; systems without any here keep their rows."""
    path = HERE / "family" / "result.json"
    former = json.loads(path.read_text("utf-8")) if path.is_file() else {"runs": [], "refused": []}
    here = [json.loads(file.read_text("utf-8")) for file in sorted(runs.glob(f"*/*/{DONE}"))]
    found = {row["run"]: row for row in [*former["runs"], *here] if "refused" not in row}
    refused = {(row["system"], row["arm"]): row for row in [*former["refused"], *here] if "refused" in row}
    order = {key: number for number, key in enumerate(plan)}
    rows = sorted(
        (row for row in found.values() if row["system"] in order and row["arm"] in plan[row["system"]]["arms"]),
        key=lambda row: (order[row["system"]], list(plan[row["system"]]["arms"]).index(row["arm"]), row["seed"]),
    )
    command = "python experiments/family.py --data PATH"
    result = {"experiment": "family", "command": command, "refused": list(refused.values()), "runs": rows}
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_table(plan, rows, list(refused.values()), HERE / "family")


if __name__ == "__main__":
    main()
