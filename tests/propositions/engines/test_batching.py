from __future__ import annotations

import threading
import time
import weakref
from contextlib import closing

import pytest

from factoid.errors import PropositionizerError
from factoid.propositions.engines.batching import Written, generate

INPUTS = [[number] * (1 + number % 5) for number in range(40)]


class Engine:
    """Answers an input with itself, or fails; all batches but the first wait until `going` is set."""

    tokenizer = None
    limit = 512

    def __init__(self, budget=1000, *, workers=1, error=None):
        self.budget = budget
        self.workers = workers
        self.error = error
        self.batches = []  # lengths of the inputs
        self.first, self.going = threading.Semaphore(), threading.Event()

    def generate(self, inputs, max_new_tokens):
        self.batches.append([len(tokens) for tokens in inputs])
        if self.error:
            raise self.error
        assert self.first.acquire(blocking=False) or self.going.wait(30)
        return [Written(list(tokens), False) for tokens in inputs]


def run(engine, inputs=INPUTS):
    engine.going.set()
    results = list(generate(engine, inputs, 4))
    assert sorted(position for batch, _ in results for position in batch) == list(range(len(inputs)))
    return results


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_keep_the_budget_and_the_longest_come_first(workers):
    engine = Engine(60, workers=workers)
    for batch, outputs in run(engine):
        assert [written.tokens for written in outputs] == [INPUTS[position] for position in batch]
    for lengths in engine.batches:
        assert max(lengths) == lengths[0]
        assert len(lengths) * (lengths[0] + min(4, 2 * lengths[0])) <= 60
    assert len(engine.batches) <= 40 * 9 // 60 + 1
    longest = [lengths[0] for lengths in engine.batches]
    assert workers > 1 or longest == sorted(longest, reverse=True)


@pytest.mark.parametrize(
    ("count", "budget", "rows"), [(30, 10_000, [10, 8, 8, 4]), (8, 10_000, [8]), (3, 1, [1, 1, 1])]
)
def test_few_inputs_are_shared_between_workers_and_one_over_the_budget_is_alone(count, budget, rows):
    engine = Engine(budget, workers=3)
    run(engine, INPUTS[:count])
    assert sorted(map(len, engine.batches), reverse=True) == rows


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA failed with error out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
        RuntimeError("cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED"),
        MemoryError(),
    ],
    ids=["cuda", "cpu", "cublas", "python"],
)
def test_a_batch_that_does_not_fit_is_an_error_that_says_what_to_do(error):
    with pytest.raises(
        PropositionizerError, match="with 10 inputs of 5 tokens at most, by batch_tokens=90: give a smaller"
    ):
        run(Engine(90, error=error))
    with pytest.raises(RuntimeError, match="scalar type"):
        run(Engine(90, error=RuntimeError("expected scalar type Half")))


def test_the_error_of_a_batch_that_does_not_fit_holds_no_tensors():
    class Failing(Engine):
        def generate(self, inputs, max_new_tokens):
            tensors = set(map(tuple, inputs))
            self.tensors = weakref.ref(tensors)
            raise MemoryError

    engine = Failing()
    with pytest.raises(PropositionizerError) as caught:
        run(engine)
    assert (type(caught.value.__cause__), engine.tensors()) == (MemoryError, None)


@pytest.mark.parametrize("workers", [1, 3])
def test_outputs_do_not_pile_up_before_a_slow_consumer(workers):
    engine = Engine(1, workers=workers)
    engine.going.set()
    with closing(generate(engine, INPUTS, 4)) as batches:
        for number in range(1, 5):
            next(batches)
            time.sleep(0.05)
            assert workers < len(engine.batches) <= number + 2 * workers


@pytest.mark.parametrize("workers", [1, 3])
def test_a_batch_is_yielded_when_it_ends_and_an_abandoned_iterator_leaves_no_thread(workers):
    engine = Engine(60, workers=workers)
    batches = generate(engine, INPUTS, 4)
    next(batches)
    engine.going.set()
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("propositions")]
