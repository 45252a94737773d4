"""Tokens and money."""

from __future__ import annotations

import pytest

from factoid.propositions import PropositionCache
from factoid.propositions.prompting.cost import ANSWER_RATIO, Prices, estimate, rough_tokens
from factoid.propositions.prompting.prompt import prompt_for, versioned_name
from tests.propositions.prompting.server import unit

PASSAGES = [unit("One two three."), unit("Four five."), unit(" \n"), unit("One two three.")]


@pytest.mark.parametrize("prompt", [None, "Split it."])
def test_an_estimate_counts_prompts_as_they_are_sent(prompt):
    cost = estimate(PASSAGES, Prices(1, 2), model="m", prompt=prompt)
    counted = sum(rough_tokens(prompt_for(passage, prompt)) for passage in PASSAGES[:2])
    assert counted <= cost.usage.prompt_tokens <= counted + 20
    assert cost.usage.completion_tokens == round(ANSWER_RATIO * (3 + 2))
    assert (cost.passages, cost.cached, cost.usage.requests) == (
        4,
        2,
        2,
    )  # equal passages are asked once
    assert cost.cost == pytest.approx(
        (cost.usage.prompt_tokens + 2 * cost.usage.completion_tokens) / 1e6
    )
    assert cost.batch_cost == pytest.approx(cost.cost / 2)


def test_the_cache_is_left_out(tmp_path):
    cache = PropositionCache(tmp_path / "cache")
    cache.put(versioned_name("m"), PASSAGES[1:2], [["x"]])
    cost = estimate(PASSAGES, model="m", cache=cache)
    assert (cost.passages, cost.cached, cost.usage.requests, cost.cost) == (4, 3, 1, None)
    assert "4 passages, 3 of them need no request" in str(cost)
    assert estimate(PASSAGES, model="m", prompt="Split it.", cache=cache).usage.requests == 2


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("word" * 90, 80), ("東京タワー", 5), ("Tokyo  ab 東京", 2 + 2)]
)
def test_the_rule(text, tokens):
    assert rough_tokens(text) == tokens
