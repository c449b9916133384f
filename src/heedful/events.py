"""How long work tells what it does: by named events with facts. Knows nobody who listens."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Report(Protocol):
    """Told of what happens while it happens: an event's name and its facts."""

    def __call__(self, event: str, facts: Mapping[str, Any], /) -> None: ...


def silent(_event: str, _facts: Mapping[str, Any]) -> None:
    """Ignore an event."""


def warn(report: Report, text: str, hint: str) -> None:
    """Report something about the data that a user should look at."""
    report("data warning", {"text": text, "hint": hint})
