"""The errors that a user can cause, each with what happened, where, and the way out.

Knows nothing of the terminal: `heedful.cli` prints these, and takes the exit code from the class.
"""


class HeedfulError(Exception):
    """Something the user can mend. `message` says what and where, `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class ConfigError(HeedfulError):
    """Wrong usage or a wrong configuration: found before any work is done."""

    exit_code = 2


class CheckFailed(HeedfulError):
    """A check found something (a leak, a regression, a difference): the tool worked, the answer is no."""

    exit_code = 3


class Interrupted(HeedfulError):
    """The user stopped the work; what was done is saved, and the hint says how to go on."""

    exit_code = 130
