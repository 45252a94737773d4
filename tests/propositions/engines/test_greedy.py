"""Our own decoding, with and without drafts, against transformers' greedy search."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from factoid.propositions.engines.greedy import Acceptance, Row, decode  # noqa: E402 - imports torch
from factoid.propositions.engines.t5_decoder import T5Decoder  # noqa: E402
from tests.propositions.tiny_t5 import greedy, padded, random_inputs, random_model  # noqa: E402

ALWAYS = 1e9  # positions that are free: every draft is worth its computation


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Counting(T5Decoder):
    """Counts steps, and may be told what to write."""

    script: list[list[int]] | None = None

    def __init__(self, model):
        super().__init__(model)
        self.fed = []

    def choose(self, logits, cache, fed):
        self.fed.append(fed)
        if self.script is None:
            return super().choose(logits, cache, fed)
        return [
            self.script[cache.order[row]][at]
            for row, at in zip(fed.rows, fed.positions, strict=True)
        ]


def ours(model, inputs, max_new_tokens, free=None, decoder=None):
    ids, mask = padded(inputs)
    decoder = decoder or T5Decoder(model)
    with torch.inference_mode():
        cache = decoder.start(model.encoder(input_ids=ids, attention_mask=mask)[0], mask)
        sources = [row[:-1] for row in inputs]
        outputs = decode(
            decoder, cache, sources, start=0, ends={1}, max_new_tokens=max_new_tokens, free=free
        )
    return [(written.tokens, written.cut_off) for written in outputs]


@pytest.mark.parametrize("kind", ["t5", "mt5", "umt5"])
@pytest.mark.parametrize("seed", range(5))
def test_output_is_that_of_greedy_search(kind, seed):
    model = random_model(seed, kind)
    inputs = random_inputs(seed, model.config.vocab_size)
    for limit in (1, 7, 70):  # 70: more than one block of the cache
        expected = greedy(model, inputs, limit)
        for free in (None, ALWAYS, 4.0):
            assert ours(model, inputs, limit, free) == expected
            assert [ours(model, [row], limit, free)[0] for row in inputs] == expected


def scripted(script, inputs, limit=90):
    """Decode what a script says, as if the model had written it; return the result and the
    steps.
    """
    model = random_model(3)
    decoder = Counting(model)
    decoder.script = [[*row, *[1] * 99] for row in script]
    inputs = [[token % model.config.vocab_size for token in row] for row in inputs]
    return ours(model, inputs, limit, ALWAYS, decoder), decoder.fed


def test_a_copied_output_takes_few_steps_and_may_end_within_a_draft():
    passage = list(range(2, 11)) * 2
    result, fed = scripted([passage], [[*passage, 1]])
    assert result == [(passage, False)]
    assert [len(step.tokens) for step in fed][:2] == [1, 9]  # the first says where to copy from
    assert len(fed) <= 4
    assert scripted([passage[:4]], [[*passage, 1]])[0] == [(passage[:4], False)]
    for limit in range(1, 9):
        result, fed = scripted([passage], [[*passage, 1]], limit=limit)
        assert result == [(passage[:limit], True)]
        assert (
            max(position for step in fed for position in step.positions) == limit - 1
        )  # nothing is fed in vain


def test_rows_that_have_ended_leave_the_batch():
    script = [[5] * length for length in (1, 2, 3, 30)]
    result, fed = scripted(script, [[2, 3, 4, 1]] * 4)
    assert result == [(row, False) for row in script]
    assert {len(set(step.rows)) for step in fed[-3:]} == {1}
    assert {max(step.rows) for step in fed[-3:]} == {0}  # alone in a cache of one row


def test_a_model_that_does_not_copy_is_soon_left_in_peace():
    chance = random.Random(0)
    row = Row([chance.randrange(50) for _ in range(100)], Acceptance())
    drafted = []
    for _ in range(500):
        drafted.append(len(row.draft(8, 0.25)))
        row.add([chance.randrange(50)], set(), 1000)
    assert sum(drafted[:100]) > 0
    assert sum(drafted[300:]) < 0.1 * 200


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_equal_but_for_near_ties(dtype):
    """Steps over several positions round otherwise than steps over one."""
    equal = total = 0
    for seed in range(12):
        model = random_model(seed)
        inputs = random_inputs(seed, model.config.vocab_size)
        plain, drafted = random_model(seed).to(dtype), random_model(seed).to(dtype)
        outputs = ours(plain, inputs, 20), ours(drafted, inputs, 20, ALWAYS)
        equal += sum(one == other for one, other in zip(*outputs, strict=True))
        total += len(inputs)
    assert equal >= 0.8 * total
