"""Batches of inputs of similar length within a budget of tokens, which shrinks where memory does not suffice."""

from __future__ import annotations

import gc
import logging
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from factoid.propositions.engines.engine import Engine, Written

logger = logging.getLogger(__name__)

_GROWTH = 2  # expected length of an output, as a multiple of its input's: the paper's Propositionizer writes 1.9 times

_SMALL = 8  # inputs that are not worth sharing between workers: a step of one row takes about as long as one of eight


class Done(NamedTuple):
    """The inputs of a batch, by number, and their outputs; None where even a batch of one does not fit into memory."""

    inputs: list[int]
    outputs: list[Written] | None


class Budget:
    """How many tokens a batch may have, and what is known of it from running out of memory.

    Args:
        tokens: Rows times the longest input and the longest expected output, at most. One row is always taken.
        max_new_tokens: Longest output.
    """

    def __init__(self, tokens: int, max_new_tokens: int) -> None:
        self.tokens = tokens
        self._max_new_tokens = max_new_tokens

    def cost(self, rows: int, longest: int) -> int:
        """Return the tokens of a batch, padding and expected outputs included."""
        return rows * (longest + min(self._max_new_tokens, _GROWTH * longest))

    def take(self, queue: deque[int], lengths: Sequence[int], workers: int) -> list[int]:
        """Take the next batch off the queue, whose inputs come longest first, and leave as much to each other worker."""
        share = max(_SMALL, -(-len(queue) // workers))
        batch = [queue.popleft()]
        longest = lengths[batch[0]]
        while queue and len(batch) < share and self.cost(len(batch) + 1, longest) <= self.tokens:
            batch.append(queue.popleft())
        return batch

    def shrink(self, rows: int, longest: int) -> None:
        """Remember that a batch did not fit: half of it is what is tried next."""
        self.tokens = min(self.tokens, self.cost(rows, longest) // 2)


def generate(engine: Engine, inputs: Sequence[Sequence[int]], budget: Budget, max_new_tokens: int) -> Iterator[Done]:
    """Yield batches as they are done, each input once. The longest come first: what does not fit shows at once.

    What is in progress when the iterator is closed is finished and thrown away.
    """
    lengths = [len(tokens) for tokens in inputs]
    queue = deque(sorted(range(len(inputs)), key=lengths.__getitem__, reverse=True))
    if engine.workers == 1:
        while queue:
            batch = budget.take(queue, lengths, engine.workers)
            if done := _settled(batch, _attempt(engine, inputs, batch, max_new_tokens), queue, budget, lengths):
                yield done
        return
    running: dict[Future[list[Written] | None], list[int]] = {}
    pool = ThreadPoolExecutor(engine.workers, thread_name_prefix="factoid-engine")
    try:
        while queue or running:
            while queue and len(running) < engine.workers:
                batch = budget.take(queue, lengths, engine.workers)
                running[pool.submit(_attempt, engine, inputs, batch, max_new_tokens)] = batch
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                if done := _settled(running.pop(future), future.result(), queue, budget, lengths):
                    yield done
    finally:
        pool.shutdown(cancel_futures=True)


def _attempt(
    engine: Engine, inputs: Sequence[Sequence[int]], batch: list[int], max_new_tokens: int
) -> list[Written] | None:
    """Return the outputs of a batch, or None if it does not fit into memory."""
    try:
        return engine.generate([inputs[at] for at in batch], max_new_tokens)
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if not is_out_of_memory(error):
            raise
    # Here, not above: the error held the tensors of the batch.
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def _settled(
    batch: list[int], outputs: list[Written] | None, queue: deque[int], budget: Budget, lengths: Sequence[int]
) -> Done | None:
    """Return a batch that is done, or put one that did not fit back and shrink the budget."""
    if outputs is not None or len(batch) == 1:
        return Done(batch, outputs)
    budget.shrink(len(batch), lengths[batch[0]])
    logger.warning("out of memory with %d inputs at once; going on with %d tokens", len(batch), budget.tokens)
    queue.extendleft(reversed(batch))
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error of torch or CTranslate2 says that memory ran out."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(
        sign in text
        for sign in ("out of memory", "not enough memory", "can't allocate memory", "bad_alloc", "alloc_failed")
    )
