"""What all tests share: checked shapes, the real data if it is there, and no hidden randomness."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest
from jaxtyping import install_import_hook

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for torch here and in subprocesses: small tests gain nothing from two

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start its background jobs without it

install_import_hook(
    ["heedful.attention", "heedful.layers", "heedful.models", "heedful.training", "heedful.decoding", "heedful.data"],
    "beartype.beartype",
)

hypothesis.settings.register_profile("heedful", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("heedful")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets beside the checkout; a test that needs it is skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real data sets are not at {folder}")
    return folder
