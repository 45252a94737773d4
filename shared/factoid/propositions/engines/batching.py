"""Passages as inputs of a model, in batches of similar length within a budget of tokens.

Passages that are too long for the model are cut at sentence ends; the budget shrinks where memory does not suffice.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from factoid.propositions.prompting.prompt import passage_input
from factoid.sentences import sentence_spans
from factoid.units import Unit

logger = logging.getLogger(__name__)

_GROWTH = 2  # expected length of an output, as a multiple of its input's: the paper's Propositionizer writes 1.9 times
_SMALL = 8  # inputs that are not worth sharing between workers: a step of one row takes about as long as one of eight


class Written(NamedTuple):
    """The tokens of one output without its end, and whether it was cut off."""

    tokens: list[int]
    cut_off: bool


class Engine(Protocol):
    """A loaded model."""

    tokenizer: Any  # the model's, of transformers
    limit: int  # the most tokens that it reads
    workers: int  # batches that are worth running at the same time, each in a thread
    budget: int  # tokens, padding and outputs included, of a batch that usually fits and is fast

    def generate(self, inputs: Sequence[Sequence[int]], max_new_tokens: int) -> list[Written]:
        """Return the greedy output for each input, given and written as tokens."""
        ...


def model_inputs(passages: Sequence[Unit], tokenizer: Any, limit: int) -> list[list[list[int]]]:
    """Return for each passage the tokens of its input, or of several inputs if one would be longer than `limit`."""

    def tokens(parts: Sequence[Unit]) -> list[list[int]]:
        return tokenizer([passage_input(part) for part in parts], verbose=False)["input_ids"]  # type: ignore[no-any-return]

    def fits(passage: Unit) -> bool:
        return len(tokens([passage])[0]) <= limit

    inputs = []
    for passage, whole in zip(passages, tokens(passages), strict=True):
        if len(whole) <= limit:
            inputs.append([whole])
            continue
        if len(tokens([replace(passage, text="")])[0]) > limit // 2:  # what is read would be headings
            passage = replace(passage, title="", section="")
        inputs.append(tokens(list(_cut(passage, fits))))
    return inputs


def _cut(passage: Unit, fits: Callable[[Unit], bool]) -> Iterator[Unit]:
    """Halve a passage until its parts fit. Their text is the passage's; their spans are not adjusted."""
    text, half = passage.text, len(passage.text) // 2
    if half == 0 or fits(passage):
        yield passage
        return
    starts = [start for start, _ in sentence_spans(text)[1:]]
    starts = starts or [at for at in (text.rfind(" ", 1, half), text.find(" ", half)) if at > 0]
    middle = min(starts, key=lambda start: abs(start - half), default=half)
    for part in (text[:middle], text[middle:]):
        if part.strip():
            yield from _cut(replace(passage, text=part), fits)


class Budget:
    """How many tokens a batch may have: rows times the longest input and expected output. One row is always taken."""

    def __init__(self, tokens: int, max_new_tokens: int) -> None:
        self.tokens = tokens
        self._max_new_tokens = max_new_tokens

    def cost(self, rows: int, longest: int) -> int:
        """Return the tokens of a batch, padding and expected outputs included."""
        return rows * (longest + min(self._max_new_tokens, _GROWTH * longest))


def generate(
    engine: Engine, inputs: Sequence[Sequence[int]], budget: Budget, max_new_tokens: int
) -> Iterator[tuple[list[int], list[Written] | None]]:
    """Yield batches as they are done, each input once: the numbers of its inputs, and their outputs.

    Outputs are None where even a batch of one does not fit into memory. The longest inputs come first: what does not fit
    shows at once. What is in progress when the iterator is closed is finished and thrown away.
    """
    lengths = [len(tokens) for tokens in inputs]
    queue = deque(sorted(range(len(inputs)), key=lengths.__getitem__, reverse=True))
    running: dict[Future[list[Written] | None], list[int]] = {}

    def take() -> list[int]:
        """Take the next batch off the queue, and leave as much to each other worker."""
        share = max(_SMALL, -(-len(queue) // engine.workers))
        batch = [queue.popleft()]
        longest = lengths[batch[0]]
        while queue and len(batch) < share and budget.cost(len(batch) + 1, longest) <= budget.tokens:
            batch.append(queue.popleft())
        return batch

    with ThreadPoolExecutor(engine.workers, thread_name_prefix="factoid-engine") as pool:
        while queue or running:
            while queue and len(running) < engine.workers:
                batch = take()
                running[pool.submit(_attempt, engine, [inputs[at] for at in batch], max_new_tokens)] = batch
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                batch, outputs = running.pop(future), future.result()
                if outputs is not None or len(batch) == 1:
                    yield batch, outputs
                    continue
                budget.tokens = min(budget.tokens, budget.cost(len(batch), lengths[batch[0]]) // 2)
                logger.warning("out of memory with %d inputs; going on with %d tokens", len(batch), budget.tokens)
                queue.extendleft(reversed(batch))


def _attempt(engine: Engine, inputs: Sequence[Sequence[int]], max_new_tokens: int) -> list[Written] | None:
    """Return the outputs of a batch, or None if it does not fit into memory."""
    try:
        return engine.generate(inputs, max_new_tokens)
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if not is_out_of_memory(error):
            raise
    # Here, not above: the error held the tensors of the batch.
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error of torch or CTranslate2 says that memory ran out."""
    text = str(error).lower()
    signs = ("out of memory", "not enough memory", "can't allocate memory", "bad_alloc", "alloc_failed")
    return isinstance(error, MemoryError) or any(sign in text for sign in signs)
