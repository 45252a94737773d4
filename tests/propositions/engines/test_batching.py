from __future__ import annotations

import pytest

from factoid.propositions.engines.batching import batches

INPUTS = [[number] * (1 + number % 5) for number in range(40)]


def test_batches_keep_the_budget_and_the_longest_come_first():
    made = list(batches(INPUTS, 4, budget=60))
    assert sorted(position for batch in made for position in batch) == list(range(40))
    lengths = [[len(INPUTS[position]) for position in batch] for batch in made]
    assert [length for batch in lengths for length in batch] == sorted(
        map(len, INPUTS), reverse=True
    )
    assert all(len(batch) * (batch[0] + min(4, 2 * batch[0])) <= 60 for batch in lengths)
    assert len(made) <= 40 * 9 // 60 + 1


@pytest.mark.parametrize(
    ("count", "budget", "rows"),
    [(30, 10_000, [10, 8, 8, 4]), (8, 10_000, [8]), (3, 1, [1, 1, 1]), (0, 10, [])],
)
def test_few_inputs_are_shared_between_workers_and_one_over_the_budget_is_alone(
    count, budget, rows
):
    made = batches([[1, 2, 3]] * count, 4, budget=budget, workers=3)
    assert [len(batch) for batch in made] == rows
