"""Progress bars that cost nothing where none is shown.

Even a disabled `tqdm` takes a lock that forked processes share, and starts a thread: a process that is killed in the
wrong moment would stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

Item = TypeVar("Item")


class Bar(Protocol):
    """The part of `tqdm` that is used."""

    def update(self, n: float = 1) -> Any:
        """Advance by so many."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: Any) -> Any: ...


class _NoBar:
    def update(self, n: float = 1) -> None:
        """Show nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing behind."""


def progress_bar(*, show: bool, unit: str, total: int | None = None, **options: Any) -> Bar:
    """Return a progress bar, or one that shows nothing; a context manager with `update`."""
    if not show:
        return _NoBar()
    from tqdm.auto import tqdm

    bar: Bar = tqdm(total=total, unit=unit, **options)
    return bar


def progress(items: Iterable[Item], *, show: bool, unit: str) -> Iterator[Item]:
    """Yield items, with a progress bar over them where one is shown."""
    if not show:
        yield from items
        return
    from tqdm.auto import tqdm

    yield from tqdm(items, unit=unit)
