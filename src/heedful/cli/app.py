"""The command `heedful`: lists the verbs, loads the one asked for, and turns errors into messages and exit codes.

Knows each verb's name and one line about it, and nothing else: a verb's module is imported when it runs or its own help
is shown.
"""

import errno
import traceback
from importlib import import_module
from inspect import signature
from keyword import iskeyword
from typing import Annotated, Any, NamedTuple, get_args

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ParameterInfo

from heedful import __version__
from heedful.cli.streams import prepare_streams, require_standard_output
from heedful.errors import NO_PERMISSION, HeedfulError, Interrupted
from heedful.training.interrupt import stop_on_termination


class Verb(NamedTuple):
    """One line of `heedful --help`. A command is the function NAME of `heedful.cli.NAME`; a group is its `app`.

    A NAME that Python keeps for itself ("import") ends in an underscore there.
    """

    name: str
    summary: str
    panel: str
    is_group: bool = False

    @property
    def python_name(self) -> str:
        """Name of the module and of its function."""
        return f"{self.name}_" if iskeyword(self.name) else self.name


VERBS = (
    Verb("demo", "Train spelling to sound on an embedded dictionary, score it, and open a report.", "Start"),
    Verb("init", "Write a complete, commented recipe.", "Start"),
    Verb("doctor", "Look at the machine and run a five-second self-test.", "Start"),
    Verb("data", "List, fetch, check, measure and split data sets.", "Data and training", is_group=True),
    Verb("train", "Train a model from a recipe, or go on with a run.", "Data and training"),
    Verb("average", "Average the last checkpoints of a run into its bundle.", "Data and training"),
    Verb("shortlist", "Make the lexical shortlist of a run, for faster decoding.", "Use"),
    Verb("translate", "Translate a file or standard input, one line to one line.", "Use"),
    Verb("import", "Make a bundle of a Marian or OPUS-MT checkpoint, and compare it with itself there.", "Use"),
    Verb("export", "Write a model for other programs, and compare it with itself there.", "Use"),
    Verb("score", "Give the log-probability of given pairs.", "Use"),
    Verb("align", "Write word alignments taken from the attention.", "Use"),
    Verb("inspect", "Show what a model attends to: terminal, picture, or one offline page.", "Measure and look inside"),
    Verb("evaluate", "Score a model on a split, with intervals and signatures.", "Measure and look inside"),
    Verb("report", "Write the report of a run: one offline page.", "Measure and look inside"),
    Verb(
        "exposure", "Compare teacher-forced with free-running predictions (exposure bias).", "Measure and look inside"
    ),
    Verb("compare", "Compare the stored outputs of runs by paired tests.", "Measure and look inside"),
    Verb(
        "attention",
        "The attention family: what each member is, and what it costs.",
        "Measure and look inside",
        is_group=True,
    ),
    Verb("runs", "List, show and diff run directories.", "Keep", is_group=True),
    Verb("config", "Show, trace and diff recipes and presets.", "Keep", is_group=True),
)


def load_verb(verb: Verb) -> Any:
    """Import a verb's module and build its command."""
    module = import_module(f"heedful.cli.{verb.python_name}")
    functions = [command.callback for command in module.app.registered_commands] if verb.is_group else []
    for function in functions or [getattr(module, verb.python_name)]:
        _leave_reading_to(function)
    if verb.is_group:
        command = typer.main.get_group(module.app)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        kind = vars(module).get("COMMAND", TyperCommand)  # of a verb that reads its arguments in a way of its own
        alone.command(verb.name, cls=kind)(getattr(module, verb.python_name))
        command = typer.main.get_command(alone)
    command.name = verb.name
    return command


def _leave_reading_to(function: Any) -> None:
    """Have a verb find out itself what it may not read: to typer that is wrong usage, and not a missing permission."""
    for parameter in signature(function).parameters.values():
        for option in get_args(parameter.annotation)[1:]:
            if isinstance(option, ParameterInfo):
                option.readable = False


class Failure(NamedTuple):
    """Message and exit code of an error."""

    message: str
    hint: str | None
    exit_code: int


def explain(error: Exception) -> Failure:
    """Say an error in one line, with the way out where there is one."""
    if isinstance(error, HeedfulError):
        return Failure(error.message, error.hint, error.exit_code)
    if isinstance(error, OSError) and error.strerror:
        place = f": {error.filename}" if error.filename else ""
        hint = "Free some space and run the same command again." if error.errno == errno.ENOSPC else None
        hint = NO_PERMISSION if error.errno == errno.EACCES else hint
        return Failure(f"{error.strerror}{place}.", hint, 1)
    from heedful.text.normalise import lone_surrogate

    if isinstance(error, UnicodeEncodeError) and (half := lone_surrogate(error.object)) is not None:
        hint = "Is it the name of a file, or of a folder? Give it a name in UTF-8."
        around = error.object[max(0, error.start - 20) : error.end + 20]
        return Failure(f"{around!a} is no UTF-8 text ({half}).", hint, 2)
    message = f"{type(error).__name__}: {error}".removesuffix(": ")
    return Failure(message, "This is a fault of heedful itself. `heedful --traceback VERB ...` shows where.", 1)


class LazyVerbs(TyperGroup):
    """Lists the verbs from the table above, and imports one only when the command line names it."""

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Run the command line, its own messages and the help included, on streams of UTF-8."""
        prepare_streams()
        return super().main(*arguments, **settings)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Replace the placeholder that was found by the verb itself."""
        name, placeholder, rest = super().resolve_command(ctx, args)
        if placeholder is None:
            return name, None, rest
        return name, load_verb(next(verb for verb in VERBS if verb.name == name)), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; what it raises becomes `error:` and `hint:` on standard error, and an exit code.

        SIGTERM is an interruption like Ctrl-C, so that what is half written is removed.
        """
        try:
            require_standard_output()
            with stop_on_termination():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("error: Interrupted.", err=True)
            raise typer.Exit(Interrupted.exit_code) from None
        except (typer.TyperException, typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params["show_traceback"]:
                traceback.print_exc()
            failure = explain(error)
            typer.echo(f"error: {failure.message}", err=True)
            if failure.hint is not None:
                typer.echo(f"hint: {failure.hint}", err=True)
            raise typer.Exit(failure.exit_code) from None


app = typer.Typer(
    cls=LazyVerbs,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _placeholder() -> None:
    """Hold the place of a verb in the list of verbs; never run."""


for _verb in VERBS:
    app.command(_verb.name, help=_verb.summary, rich_help_panel=_verb.panel)(_placeholder)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heedful {__version__}")
        raise typer.Exit


@app.callback()
def heedful(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    show_traceback: Annotated[
        bool, typer.Option("--traceback", help="On an error, show where in the program it arose.")
    ] = False,
) -> None:
    """Train, examine and ship encoder-decoder attention models on your own data.

    Results go to standard output, everything else to standard error.
    Exit codes: 0 fine, 1 failed, 2 wrong usage or configuration, 3 a check found something, 130 interrupted.
    """


def main() -> None:
    """Run the command line; the entry point of the command."""
    app(prog_name="heedful")


if __name__ == "__main__":
    main()
