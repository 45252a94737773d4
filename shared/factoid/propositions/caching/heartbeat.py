"""Something that is done again and again, as a sign of life, while work goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from factoid.errors import StoreError

logger = logging.getLogger(__name__)


class Heartbeat:
    """Calls a function from a thread, until it is stopped.

    It can be paused: who has asked for results and does not fetch them must not hold up others for ever.

    Args:
        beat: What to call.
        every: Seconds between two calls.
    """

    def __init__(self, beat: Callable[[], None], *, every: float) -> None:
        self._beat, self._every = beat, every
        self._stopped = threading.Event()
        self._paused = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Leave out what is due until `go_on`."""
        self._paused = True

    def go_on(self) -> None:
        """Beat again."""
        self._paused = False

    def stop(self) -> None:
        """End, without waiting for a call that is under way."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._every):
            if self._paused:
                continue
            try:
                self._beat()
            except StoreError as error:  # whoever keeps the results meets it as well, and raises it
                logger.warning("claims on passages could not be renewed: %s", error)
