"""The errors that a user can cause, each with what happened, where, and the way out.

Knows nothing of the terminal: `heedful.cli` prints these, and takes the exit code from the class. docs/house.md says
which class is for what.
"""

import errno

NO_PERMISSION = "Choose what belongs to you, or have its permissions changed."


class HeedfulError(Exception):
    """Error that the user can fix. `message` says what and where, `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class ConfigError(HeedfulError):
    """Invalid request: an option, a key or a value is wrong, or a file or folder that was named does not exist or is of
    another kind.
    """

    exit_code = 2


class CheckFailed(HeedfulError):
    """A check found something (a leak, a regression, a difference): the tool worked, the answer is no."""

    exit_code = 3


class CannotWrite(HeedfulError):
    """The system refused to write `path`; what was there before is unharmed. `cause` is what the system said."""

    def __init__(self, path: object, refusal: "OSError | CannotWrite") -> None:
        """Report a refusal to write a part of `path` as one to write the whole."""
        self.cause: OSError = refusal.cause if isinstance(refusal, CannotWrite) else refusal
        reason = self.cause.strerror or str(self.cause)
        if self.cause.errno in (errno.ENOSPC, errno.EDQUOT):
            message = f"The disk is full: {path} could not be written."
            hint = "Free some space and run the same command again; what was there before is unharmed."
        elif isinstance(self.cause, PermissionError) or self.cause.errno == errno.EROFS:
            message = f"{path} may not be written ({reason.lower()})."
            hint = "Choose a folder that belongs to you."
        else:
            message = f"{path} could not be written: {reason}."
            hint = "What was there before is unharmed: mend that, or name another place."
        super().__init__(message, hint=hint)


class Interrupted(HeedfulError):
    """The user stopped the work; what was done is saved, and the hint says how to go on."""

    exit_code = 130


def counted(number: int, noun: str) -> str:
    """Format a count with its noun: "1 pair", "2,000 pairs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
