from __future__ import annotations

import logging
import threading

import pytest

from factoid.propositions.engines.batching import Budget, Written, generate, is_out_of_memory

INPUTS = [[number] * (1 + number % 5) for number in range(40)]


class Engine:
    """Answers an input with itself, and runs out of memory above a number of rows."""

    tokenizer = None
    limit = 512

    def __init__(self, *, workers=1, most=1000, error=None):
        self.workers = workers
        self.most = most
        self.error = error or RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate")
        self.tried = []
        self.lock = threading.Lock()

    def generate(self, inputs, max_new_tokens):
        with self.lock:
            self.tried.append([len(tokens) for tokens in inputs])
        if len(inputs) > self.most:
            raise self.error
        return [Written(list(tokens), False) for tokens in inputs]


def run(engine, tokens, inputs=INPUTS, max_new_tokens=4):
    budget = Budget(tokens, max_new_tokens)
    done = list(generate(engine, inputs, budget, max_new_tokens))
    positions = [at for batch, _ in done for at in batch]
    assert sorted(positions) == list(range(len(inputs)))
    return done, budget


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_keep_the_budget_and_the_longest_come_first(workers):
    engine = Engine(workers=workers)
    done, _ = run(engine, 60)
    for batch, outputs in done:
        assert [written.tokens for written in outputs] == [INPUTS[at] for at in batch]
    for lengths in engine.tried:
        assert max(lengths) == lengths[0]
        assert len(lengths) * (lengths[0] + min(4, 2 * lengths[0])) <= 60
    assert len(engine.tried) <= 40 * 9 // 60 + 1
    if workers == 1:
        assert [lengths[0] for lengths in engine.tried] == sorted(
            (lengths[0] for lengths in engine.tried), reverse=True
        )


@pytest.mark.parametrize(("count", "rows"), [(30, [10, 8, 8, 4]), (8, [8])])
def test_few_inputs_are_shared_between_workers(count, rows):
    engine = Engine(workers=3)
    run(engine, 10_000, INPUTS[:count])
    assert [len(lengths) for lengths in engine.tried] == rows


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA failed with error out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
        MemoryError("std::bad_alloc"),
    ],
    ids=["cuda", "cpu", "c++"],
)
def test_a_batch_that_does_not_fit_is_halved_and_the_size_remembered(workers, error, caplog):
    engine = Engine(workers=workers, most=3, error=error)
    with caplog.at_level(logging.WARNING):
        done, budget = run(engine, 1000)
    assert all(len(batch) <= 3 and outputs is not None for batch, outputs in done)
    failed = [lengths for lengths in engine.tried if len(lengths) > 3]
    assert 0 < len(failed) <= 6 * workers  # 40, 20, 10, 5 rows, and more again only where they are shorter
    assert budget.tokens <= 4 * 9
    assert "going on with" in caplog.text


@pytest.mark.parametrize("workers", [1, 3])
def test_an_input_that_does_not_fit_alone_has_no_output_and_other_errors_pass(workers):
    done, _ = run(Engine(workers=workers, most=0), 1000, INPUTS[:5])
    assert [outputs for _, outputs in done] == [None] * 5
    engine = Engine(workers=workers, most=0, error=RuntimeError("expected scalar type Half"))
    with pytest.raises(RuntimeError, match="scalar type"):
        run(engine, 60)


def test_errors_of_torch_are_recognised():
    torch = pytest.importorskip("torch")
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"))
    assert is_out_of_memory(RuntimeError("cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED"))
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize("workers", [1, 3])
def test_an_abandoned_iterator_leaves_no_thread(workers):
    batches = generate(Engine(workers=workers), INPUTS, Budget(60, 4), 4)
    next(batches)
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("factoid-engine")]
