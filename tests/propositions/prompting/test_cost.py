"""Tokens and money."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from factoid.errors import InvalidInputError
from factoid.propositions import PropositionCache
from factoid.propositions.prompting.cost import ANSWER_RATIO, Prices, Usage, estimate, rough_tokens, token_counter
from factoid.propositions.prompting.prompt import prompt_for, versioned_name
from tests.propositions.prompting.server import unit

WORDS = SimpleNamespace(name="words", encode_ordinary=str.split)


@pytest.fixture(autouse=True)
def tiktoken(monkeypatch):
    """One token a word, for one known model."""
    fake = SimpleNamespace(encoding_for_model={"known": WORDS}.__getitem__, get_encoding=lambda name: WORDS)
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    return fake


def test_prices():
    used = Usage(5, 3_000_000, 1_000_000, 1_000_000)
    assert Prices(2, 10).cost(used) == pytest.approx(3 * 2 + 10)
    assert Prices(2, 10).cost(used, batch=True) == pytest.approx(16 / 2)
    for wrong in ((-1, 1), (1, -1), (float("nan"), 1), (1, float("nan"))):
        with pytest.raises(InvalidInputError, match="prices must be"):
            Prices(*wrong)


PASSAGES = [unit("One two three."), unit("Four five."), unit(" \n"), unit("One two three.")]


@pytest.mark.parametrize("prompt", [None, "Split it."])
def test_an_estimate_counts_prompts_as_they_are_sent(prompt):
    cost = estimate(PASSAGES, Prices(1, 2), model="known", prompt=prompt)
    sent = [passage for passage in PASSAGES if passage.text.strip()]
    exact = sum(len(prompt_for(passage, prompt).split()) for passage in sent)
    assert exact <= cost.usage.prompt_tokens <= exact + 10 * len(sent)
    assert cost.usage.completion_tokens == round(ANSWER_RATIO * 8)
    assert (cost.passages, cost.cached, cost.usage.requests) == (4, 1, 3)
    assert cost.cost == pytest.approx((cost.usage.prompt_tokens + 2 * cost.usage.completion_tokens) / 1e6)
    assert cost.batch_cost == pytest.approx(cost.cost / 2)


def test_the_cache_is_left_out(tmp_path):
    cache = PropositionCache(tmp_path / "cache")
    cache.put(versioned_name("m"), PASSAGES[1:2], [["x"]])
    cost = estimate(PASSAGES, model="m", cache=cache)
    assert (cost.passages, cost.cached, cost.usage.requests) == (4, 3, 1)
    assert estimate(PASSAGES, model="m", prompt="Split it.", cache=cache).usage.requests == 2


def test_a_sample_tells_how_long_answers_are():
    cost = estimate(PASSAGES, sample=Usage(10, 5000, 700))
    assert cost.cost is cost.batch_cost is None
    assert "about 210 tokens of answers" in str(cost)


def test_without_tiktoken_or_its_files_a_rule_counts(monkeypatch, tiktoken):
    assert token_counter("unknown")[1] == "tiktoken, words"

    def fail(name):
        raise ConnectionError(name)

    tiktoken.encoding_for_model = fail
    assert token_counter("known") == (rough_tokens, "a rule: 4.5 characters a token")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert estimate([unit("x" * 450)]).counted_by == "a rule: 4.5 characters a token"


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("word" * 90, 80), ("東京タワー", 5), ("Tokyo  ab 東京", 2 + 2)])
def test_the_rule(text, tokens):
    assert rough_tokens(text) == tokens
