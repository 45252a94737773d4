"""Progress of long work: a bar where a person looks, and elsewhere a line in the log now and then.

Short work shows nothing, and costs nothing: even a disabled `tqdm` takes a lock that forked
processes share, and starts a thread, so that a process killed at the wrong moment would stop the
others.
"""

from __future__ import annotations

import logging
import operator
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, Self, TypeVar

Item = TypeVar("Item")

PATIENCE = 1.0  # seconds of work before a bar that nobody asked for
INTERVAL = 30.0  # seconds between two lines in the log

logger = logging.getLogger(__name__)


def is_watched() -> bool:
    """Return whether a person looks at what is printed: in a terminal, or in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and "IPKernelApp" in shell.config:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


class Progress:
    """How far some work is; a context manager, made by `progress_bar`.

    Attributes:
        total: How many things there are to do, if that is known. It may be set later.
        done: How many are done.
    """

    def __init__(
        self, show: bool | None, unit: str, total: int | None, desc: str, initial: int
    ) -> None:
        self.total = total
        self.done = initial
        self._show = show
        self._unit = unit
        self._desc = desc
        self._initial = initial
        self._note = ""
        self._bar: Any = None  # of tqdm, once there is one
        self._started = self._logged = time.monotonic()
        self._watched = False if show is False else show or is_watched()

    def __enter__(self) -> Self:
        if self._show:
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, count: int = 1) -> None:
        """Say that some more things are done."""
        self.reach(self.done + count)

    def reach(self, done: int, note: str = "") -> None:
        """Say how many things are done in all, and in a few words what else there is to say."""
        self.done = done
        self._note = note or self._note
        if self._show is False:
            return
        now = time.monotonic()
        if self._bar is None and self._watched and now - self._started >= PATIENCE:
            self._open()
        if self._bar is not None:
            self._bar.total = self.total
            self._bar.set_postfix_str(self._note, refresh=False)
            self._bar.update(done - self._bar.n)
        elif not self._watched and now - self._logged >= INTERVAL:
            self._logged = now
            logger.info("%s", self._line(now - self._started))

    def _open(self) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(
            total=self.total, unit=self._unit, desc=self._desc or None, initial=self._initial
        )
        self._bar.start_t -= time.monotonic() - self._started  # when the work began

    def _line(self, seconds: float) -> str:
        """Return a line for the log: what was done, of how many, and in which time."""
        count = f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"
        counted = f"{count}{self._unit}"
        if self._desc:
            counted = f"{self._desc}: {counted}"
        parts = [counted, self._note]
        parts.append(f"{timedelta(seconds=round(seconds))} so far")
        done = self.done - self._initial
        if self.total is not None and done > 0:
            seconds_left = seconds / done * max(self.total - self.done, 0)
            parts.append(f"about {timedelta(seconds=round(seconds_left))} left")
        return ", ".join(filter(None, parts))


def progress_bar(
    *, show: bool | None, unit: str, total: int | None = None, desc: str = "", initial: int = 0
) -> Progress:
    """Return a context manager to which `update` says what was done.

    Args:
        show: True for a bar. None for a bar where a person looks, once the work takes longer than a
            second, and elsewhere a line in the log (INFO) every half a minute. False for neither.
        unit: What is counted, with a space before it.
        total: How many there are, if that is known.
        desc: What is done.
        initial: How many were done before.
    """
    return Progress(show, unit, total, desc, initial)


def tracked(
    items: Iterable[Item], *, show: bool | None, unit: str, total: int | None = None, desc: str = ""
) -> Iterator[Item]:
    """Yield items, and show how many were taken, as `progress_bar` does."""
    if show is False:
        yield from items
        return
    if total is None:
        total = operator.length_hint(items) or None
    with progress_bar(show=show, unit=unit, total=total, desc=desc) as bar:
        for item in items:
            yield item
            bar.update()
