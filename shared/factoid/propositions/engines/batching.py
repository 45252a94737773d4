"""Run passages through a model, in batches of similar length within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from traceback import clear_frames
from typing import Any, NamedTuple, Protocol

from factoid.errors import PropositionizerError
from factoid.propositions.prompting.concurrency import in_threads
from factoid.propositions.prompting.prompt import passage_input
from factoid.sentences import sentence_spans
from factoid.units import Unit

_GROWTH = 2  # expected length of an output, as a multiple of its input's: the paper's Propositionizer writes 1.9 times
_SMALL = 8  # too few inputs to share between workers: a step of one row takes about as long as one of eight
_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "bad_alloc", "alloc_failed")


class Written(NamedTuple):
    """The tokens of one output without its end, and whether it was cut off."""

    tokens: list[int]
    cut_off: bool


class Engine(Protocol):
    """A loaded model."""

    tokenizer: Any  # the model's, of transformers
    limit: int  # maximum number of tokens of an input
    workers: int  # batches that are worth running at the same time, each in a thread
    budget: int  # tokens of a batch, padding and expected outputs included

    def generate(self, inputs: Sequence[Sequence[int]], max_new_tokens: int) -> list[Written]:
        """Return the greedy output for each input, as tokens."""
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
        if len(tokens([replace(passage, text="")])[0]) > limit // 2:  # mostly headings
            passage = replace(passage, title="", section="")
        inputs.append(tokens(list(_cut(passage, fits))))
    return inputs


def _cut(passage: Unit, fits: Callable[[Unit], bool]) -> Iterator[Unit]:
    """Halve a passage at a sentence end, else between words, until its parts fit. Their spans are not adjusted."""
    text, half = passage.text, len(passage.text) // 2
    if half == 0 or fits(passage):
        yield passage
        return
    starts = [start for start, _ in sentence_spans(text)[1:]]
    starts = starts or [space for space in (text.rfind(" ", 1, half), text.find(" ", half)) if space > 0]
    middle = min(starts, key=lambda start: abs(start - half), default=half)
    for part in (text[:middle], text[middle:]):
        if part.strip():
            yield from _cut(replace(passage, text=part), fits)


def generate(
    engine: Engine, inputs: Sequence[Sequence[int]], max_new_tokens: int
) -> Iterator[tuple[list[int], list[Written]]]:
    """Yield batches as they end, each input once: the positions of the inputs, and their outputs.

    The longest inputs come first, so that a lack of memory shows at once. At most twice as many batches as there are workers are
    ahead of the consumer. Closing the iterator waits for the batches in progress.

    Raises:
        PropositionizerError: A batch does not fit into memory.
    """
    batches = list(_batches(engine, [len(tokens) for tokens in inputs], max_new_tokens))
    rows = ([inputs[position] for position in batch] for batch in batches)
    work = partial(_outputs, engine, max_new_tokens)
    with closing(in_threads(work, rows, width=engine.workers)) as results:
        for number, outputs in results:
            yield batches[number], outputs


def _batches(engine: Engine, lengths: Sequence[int], max_new_tokens: int) -> Iterator[list[int]]:
    """Yield positions of inputs by decreasing length, as many as the budget holds, but few enough to share between workers."""
    positions = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    start = 0
    while start < len(positions):
        longest = lengths[positions[start]]
        rows = engine.budget // (longest + min(max_new_tokens, _GROWTH * longest))
        share = max(_SMALL, -(-(len(positions) - start) // engine.workers))
        end = start + max(1, min(rows, share))
        yield positions[start:end]
        start = end


def _outputs(engine: Engine, max_new_tokens: int, inputs: Sequence[Sequence[int]]) -> list[Written]:
    try:
        return engine.generate(inputs, max_new_tokens)
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if not isinstance(error, MemoryError) and not any(sign in str(error).lower() for sign in _OUT_OF_MEMORY):
            raise
        clear_frames(error.__traceback__)  # they hold the tensors of the batch, and notebooks keep the last error
        raise PropositionizerError(
            f"out of memory with {len(inputs)} inputs of {len(inputs[0])} tokens at most, by batch_tokens={engine.budget}: "
            'give a smaller batch_tokens or max_new_tokens, or device="cpu"'
        ) from error
