"""The whole command line as text: every verb, argument and option. `python -m tests.house.command_line` prints it."""

from typing import Any

from heedful.cli.app import VERBS, load_verb


def describe(command: Any, name: str) -> list[str]:
    """One line for each command: its name, then its arguments and options in order."""
    subcommands = getattr(command, "commands", {})
    if subcommands:
        return [line for sub, inner in subcommands.items() for line in describe(inner, f"{name} {sub}")]
    words = []
    for parameter in command.params:
        words.append("/".join(parameter.opts) if parameter.param_type_name == "option" else parameter.name.upper())
    return [" ".join([name, *words])]


def whole() -> str:
    """Every command, one a line."""
    return "".join(f"{line}\n" for verb in VERBS for line in describe(load_verb(verb), verb.name))


if __name__ == "__main__":
    print(whole(), end="")
