"""Progress bars that cost nothing where none is shown.

Even a disabled `tqdm` takes a lock that forked processes share, and starts a thread: a process that is killed in the
wrong moment would stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

Item = TypeVar("Item")
Bar = Any  # what `progress_bar` returns: a context manager with `update`, as tqdm's


class _NoBar(nullcontext[Any]):
    def __enter__(self) -> Any:
        return self

    def update(self, n: float = 1) -> None:
        """Show nothing."""


def progress_bar(*, show: bool, unit: str, total: int | None = None, **options: Any) -> Bar:
    """Return a progress bar, or one that shows nothing; a context manager with `update`."""
    if not show:
        return _NoBar()
    from tqdm.auto import tqdm

    return tqdm(total=total, unit=unit, **options)


def progress(items: Iterable[Item], *, show: bool, unit: str) -> Iterator[Item]:
    """Yield items, with a progress bar over them where one is shown."""
    if not show:
        yield from items
        return
    from tqdm.auto import tqdm

    yield from tqdm(items, unit=unit)
