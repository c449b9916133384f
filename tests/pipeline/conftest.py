"""The command line, run inside the test's own process."""

from tests.cli.conftest import heedful

__all__ = ["heedful"]
