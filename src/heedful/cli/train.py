"""`heedful train`: from a recipe to a run directory, or on with a run."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.streams import print_json
from heedful.errors import ConfigError

if TYPE_CHECKING:
    from heedful.recipe.recipe import Recipe


def train(
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="[RECIPE|RUN] [key=value ...]", help="A recipe file (or with --resume a run), then single keys."
        ),
    ],
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint of this run.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do everything short of training, and say what would happen.")
    ] = False,
    overfit: Annotated[
        int | None, typer.Option(min=1, help="Drive so many pairs to zero loss instead: a test of the set-up.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(min=0, help="Stop training after so many minutes.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as one JSON object.")] = False,
) -> None:
    """Train a model as a recipe says, score it, and keep everything in a run directory."""
    asked = [name for name, wanted in (("--resume", resume), ("--dry-run", dry_run), ("--overfit", overfit)) if wanted]
    if len(asked) > 1:
        raise ConfigError(f"{' and '.join(asked)} exclude each other.", hint="Ask for one at a time.")
    recipe, folder = _recipe(settings, resume, max_minutes)
    if dry_run:
        _print_dry_run(recipe, folder, as_json)
    elif overfit is not None:
        _print_overfit(recipe, overfit, as_json)
    else:
        _train(recipe, folder, resume, as_json)


def _recipe(settings: list[str], resume: bool, max_minutes: float | None) -> "tuple[Recipe, Path]":
    """Return the recipe that the command line comes to, and its run directory."""
    from heedful.pipeline.train import resume_command, run_folder
    from heedful.recipe.recipe import load_recipe, load_stored
    from heedful.records.run import Run

    named = settings[:1] if "=" not in settings[0] or Path(settings[0]).exists() else []
    overrides = settings[len(named) :]
    if max_minutes is not None:
        overrides = [*overrides, f"training.max_minutes={max_minutes}"]
    path = Path(named[0]) if named else None
    if path is not None and (stored := path / "config.resolved.toml").is_file():
        if not resume:
            raise ConfigError(f"{path} is a run.", hint=f"Go on with it: {resume_command(path)}")
        Run.open(path).config()  # checked to be as it was written
        return load_stored(stored, overrides).config, path
    if resume and path is not None and (path.is_dir() or not path.exists()):
        hint = "`heedful runs list FOLDER` shows the runs in a folder."
        message = f"{path} holds no run to resume." if path.exists() else f"There is no {path} to resume."
        raise ConfigError(message, hint=hint)
    recipe = load_recipe(path, overrides)
    return recipe, run_folder(recipe, path)


def _train(recipe: "Recipe", folder: Path, resume: bool, as_json: bool) -> None:
    from heedful.cli.progress import TrainingDisplay
    from heedful.pipeline.train import train as run_recipe

    with TrainingDisplay(recipe.training.max_updates, recipe.training.max_minutes) as display:
        trained = run_recipe(recipe, folder, resume=resume, command=sys.argv, report=display)
    progress, finished = trained.outcome.progress, trained.finished
    if as_json:
        facts = {
            "run": str(folder),
            "model": str(folder / "model"),
            "updates": progress.update,
            "seconds": progress.seconds,
            "ended": trained.outcome.reason,
            "split": finished.split,
            "scores": [score._asdict() for score in finished.scores],
        }
        print_json(facts)
        return
    for score in finished.scores:
        interval = f"[{score.low:.2f}, {score.high:.2f}]"
        typer.echo(f"{finished.split}\t{score.metric}\t{score.value:.2f}\t{interval}\tn={score.n}\t{score.signature}")
    quoted = shlex.quote(str(folder))
    typer.echo(f"The model is {folder / 'model'}. Try: heedful translate {quoted} FILE", err=True)


def _print_dry_run(recipe: "Recipe", folder: Path, as_json: bool) -> None:
    from heedful.cli.progress import TrainingDisplay, gold_inputs
    from heedful.config import to_toml, to_tree
    from heedful.pipeline.train import dry_run

    with TrainingDisplay(1, None) as display:
        found = dry_run(recipe, folder, display)
    if as_json:
        print_json({"run": str(folder), "recipe": to_tree(recipe), **found._asdict()})
        return
    typer.echo(to_toml(recipe))
    typer.echo(f"# run directory        {folder}{' (exists)' if folder.exists() else ''}")
    typer.echo(f"# parameters           {found.parameters:,}")
    typer.echo(f"# batches an epoch     {found.batches_per_epoch:,} ({found.padding_share:.1%} padding)")
    typer.echo(f"# memory, estimated    {found.memory_bytes / 1e6:,.0f} MB")
    typer.echo(f"# disk for checkpoints {found.disk_bytes / 1e6:,.0f} MB")
    for name, shape in found.shapes.items():
        typer.echo(f"# largest batch        {name} {shape}")
    typer.echo(f"# loss before training {found.loss:.3f} nats a token")
    if found.p_gold:
        typer.echo(f"# {gold_inputs(found.p_gold)}")


def _print_overfit(recipe: "Recipe", pairs: int, as_json: bool) -> None:
    from heedful.cli.progress import TrainingDisplay
    from heedful.pipeline.overfit import UPDATES, overfit

    with TrainingDisplay(UPDATES, None) as display:
        found = overfit(recipe, pairs, display)
    if as_json:
        print_json(found._asdict())
        return
    typer.echo(f"{found.pairs} pairs, {found.updates} updates: loss {found.loss:.4f} nats a token")
    typer.echo(f"moved ({len(found.moved)}): {' '.join(found.moved)}")
    typer.echo(f"did not move ({len(found.still)}): {' '.join(found.still) or 'none'}")
