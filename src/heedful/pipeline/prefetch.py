"""The next batch is made while the current one is trained on. Knows no batch: it asks a function of a number."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, TypeVar, final

Item = TypeVar("Item")


@final
class Prefetch(Generic[Item]):
    """The same values as `make(0), make(1), ...`, each begun, on a thread of its own, when the one before is taken.

    A number that was not expected is made when it is asked for. An error is raised where its item is asked for. Used as
    a context, so that no thread outlives its use.
    """

    def __init__(self, make: Callable[[int], Item]) -> None:
        self._make = make
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead")
        self._begun: tuple[int, Future[Item]] | None = None

    def __call__(self, number: int) -> Item:
        """Return item `number`; number + 1 is begun."""
        if self._begun is not None and self._begun[0] == number:
            future = self._begun[1]
        else:
            future = self._thread.submit(self._make, number)  # behind what is begun: `make` never runs twice at once
        item = future.result()
        self._begun = number + 1, self._thread.submit(self._make, number + 1)
        return item

    def __enter__(self) -> "Prefetch[Item]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
