"""Progress bars that cost nothing when they are not shown.

Even a disabled `tqdm` takes a lock that forked processes share, and starts a thread: a process killed at the wrong moment would
stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, TypeVar

Item = TypeVar("Item")


def progress_bar(*, show: bool, unit: str, total: int | None = None, **options: Any) -> Any:
    """Return a context manager: a progress bar, or one that shows nothing, with tqdm's `update`."""
    if not show:
        return nullcontext(SimpleNamespace(update=lambda *_: None))
    from tqdm.auto import tqdm

    return tqdm(total=total, unit=unit, **options)


def progress(items: Iterable[Item], *, show: bool, unit: str, total: int | None = None) -> Iterator[Item]:
    """Yield items, with a progress bar over them if `show` is set."""
    if not show:
        yield from items
        return
    from tqdm.auto import tqdm

    yield from tqdm(items, unit=unit, total=total)
