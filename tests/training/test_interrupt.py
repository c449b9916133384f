"""Ctrl-C and SIGTERM: the first asks, the second is as it ever was."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from heedful.training.interrupt import stop_on_signal


@pytest.fixture(autouse=True)
def _python_handles_ctrl_c() -> Iterator[None]:
    """As at Python's start in a terminal; a process in the background of a shell inherits that SIGINT is ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_gives_the_handlers_back(number: signal.Signals) -> None:
    former = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    with stop_on_signal() as stop_requested:
        assert not stop_requested()
        assert signal.getsignal(number) is not former[number]
        os.kill(os.getpid(), number)
        assert stop_requested()
        assert {n: signal.getsignal(n) for n in former} == former


def test_the_second_ctrl_c_stops_at_once() -> None:
    with stop_on_signal() as stop_requested:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop_requested()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_handlers_come_back_without_a_signal() -> None:
    former = signal.getsignal(signal.SIGINT)
    with stop_on_signal():
        pass
    assert signal.getsignal(signal.SIGINT) is former


def test_outside_the_main_thread_nothing_is_caught() -> None:
    answers: list[bool] = []

    def ask() -> None:
        with stop_on_signal() as stop_requested:
            answers.append(stop_requested())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert answers == [False]
