"""Ctrl-C and SIGTERM during training: the first asks for a checkpoint and a stop, the second stops at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_termination() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt, as Ctrl-C does, so that open files are closed and the user is told.

    Outside the main thread, where Python allows no handlers, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether a stop was requested. After the first signal the former handlers are back.

    Outside the main thread, where Python allows no handlers, nothing is caught and the answer stays False.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    requested = False
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in former.items():
            signal.signal(number, handler)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal requested
        requested = True
        restore()

    for number in former:
        signal.signal(number, on_signal)
    try:
        yield lambda: requested
    finally:
        restore()
