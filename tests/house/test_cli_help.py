"""Options are frozen: a new one, or a lost one, shows in this folder's diff."""

from pathlib import Path

from tests.house.command_line import whole

FROZEN = Path(__file__).with_name("command_line.txt")


def test_options_are_frozen() -> None:
    """After a change that is meant: `python -m tests.house.command_line > tests/house/command_line.txt`."""
    assert whole().splitlines() == FROZEN.read_text("utf-8").splitlines()
