from __future__ import annotations

import json
import logging
import threading
from types import SimpleNamespace

import pytest

from factoid.propositions.engines import batching
from factoid.propositions.engines.batching import Written, generate
from factoid.propositions.parse import read_propositions

INPUTS = [[number] * (1 + number % 5) for number in range(40)]


class Engine:
    """Answers an input with itself, and runs out of memory above a number of rows."""

    tokenizer = None
    limit = 512

    def __init__(self, budget=1000, *, workers=1, max_rows=1000, error=None):
        self.budget = budget
        self.workers = workers
        self.max_rows = max_rows
        self.error = error or RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate")
        self.batches = []  # lengths of the inputs
        self.lock = threading.Lock()

    def generate(self, inputs, max_new_tokens):
        with self.lock:
            self.batches.append([len(tokens) for tokens in inputs])
        if len(inputs) > self.max_rows:
            raise self.error
        return [Written(list(tokens), False) for tokens in inputs]


def run(engine, inputs=INPUTS):
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


@pytest.mark.parametrize(("count", "rows"), [(30, [10, 8, 8, 4]), (8, [8])])
def test_few_inputs_are_shared_between_workers(count, rows):
    engine = Engine(10_000, workers=3)
    run(engine, INPUTS[:count])
    assert [len(lengths) for lengths in engine.batches] == rows


@pytest.mark.parametrize("workers", [1, 3])
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
def test_a_batch_that_does_not_fit_is_halved_and_the_size_remembered(workers, error, caplog):
    engine = Engine(workers=workers, max_rows=3, error=error)
    with caplog.at_level(logging.WARNING):
        results = run(engine)
    assert all(len(batch) <= 3 and outputs is not None for batch, outputs in results)
    failed = [lengths for lengths in engine.batches if len(lengths) > 3]
    assert 0 < len(failed) <= 6 * workers  # 40, 20, 10, 5 rows, and more again only where they are shorter
    assert engine.budget <= 4 * 9
    assert "going on with" in caplog.text


@pytest.mark.parametrize("workers", [1, 3])
def test_an_input_that_does_not_fit_alone_has_no_output_and_other_errors_pass(workers):
    results = run(Engine(workers=workers, max_rows=0), INPUTS[:5])
    assert [outputs for _, outputs in results] == [None] * 5
    with pytest.raises(RuntimeError, match="scalar type"):
        run(Engine(60, workers=workers, max_rows=0, error=RuntimeError("expected scalar type Half")))


@pytest.mark.parametrize("workers", [1, 3])
def test_an_abandoned_iterator_leaves_no_thread(workers):
    batches = generate(Engine(60, workers=workers), INPUTS, 4)
    next(batches)
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("factoid-engine")]


CHARACTERS = SimpleNamespace(decode=lambda tokens, skip_special_tokens: "".join(map(chr, tokens)))


def is_loop(text):
    return batching.is_loop([ord(char) for char in text], CHARACTERS)


def listed(*texts):
    return json.dumps(texts)[:-1] + ', "'


OLD, NEW = "It is old.", "It is new."


@pytest.mark.parametrize(
    "text", [listed("One.", *[OLD] * 5), listed("One.", *[OLD, NEW] * 5), listed(*[OLD] * 5) + OLD]
)
def test_the_same_propositions_again_and_again(text, monkeypatch):
    monkeypatch.setattr(batching, "_CHECK_EVERY", 1)
    assert is_loop(text)
    longer = read_propositions(text + "It is old.", cut_off=True)
    assert set(longer) == set(read_propositions(text, cut_off=True))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        listed(OLD, NEW, "It is here."),
        listed(*[OLD] * 3),
        listed(*[OLD] * 6, NEW),
        listed("In the " + "very " * 20),  # within a proposition, which may still end
        "very old " * 20,
        listed(*(f"Town {number} has {number} gates." for number in range(10))),
    ],
)
def test_what_may_still_say_something_new(text, monkeypatch):
    monkeypatch.setattr(batching, "_CHECK_EVERY", 1)
    assert not is_loop(text)


def test_outputs_are_checked_every_32_tokens():
    text = listed(*[OLD] * 50)
    assert [length for length in range(100, 200) if is_loop(text[:length])] == [128, 160, 192]
