"""What happens between the steps of a training: a progress bar, and an end that loses nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import transformers
from tqdm.auto import tqdm


class Stop(transformers.TrainerCallback):  # type: ignore[misc]
    """Ends training after the step in hand, with a checkpoint, once that is asked for."""

    def __init__(self, asked: threading.Event) -> None:
        self._asked = asked

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Save and stop, if that is asked for."""
        if self._asked.is_set():
            control.should_save = control.should_training_stop = True


class Progress(transformers.TrainerCallback):  # type: ignore[misc]
    """A bar over steps on stderr; the trainer's own writes to stdout."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Show the bar, at the step where the run goes on."""
        self._bar: tqdm[Any] = tqdm(
            total=state.max_steps, initial=state.global_step, desc="training", unit=" steps", disable=not self._shown
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Count a step."""
        self._bar.update()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:  # noqa: ARG002
        """Show the loss."""
        if logs and "loss" in logs:
            self._bar.set_postfix(loss=f"{float(logs['loss']):.3f}")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Close the bar."""
        self._bar.close()


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Set the event at Ctrl-C or SIGTERM instead of ending at once; a second one ends at once.

    In another thread than the main one signals cannot be had, and what counts are the checkpoints.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
