"""Tokens and money."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from factoid.errors import InvalidInputError
from factoid.propositions import PropositionCache
from factoid.propositions.prompting.cost import ANSWER_RATIO, Prices, Usage, estimate, rough_tokens, token_counter
from factoid.propositions.prompting.prompt import passage_input, prompt_for
from tests.propositions.prompting.server import unit

WORDS = SimpleNamespace(name="words", encode_ordinary=str.split)


@pytest.fixture(autouse=True)
def tiktoken(monkeypatch):
    """One token a word, for one known model."""

    def encoding_for_model(model):
        if model != "known":
            raise KeyError(model)
        return WORDS

    fake = SimpleNamespace(encoding_for_model=encoding_for_model, get_encoding=lambda name: WORDS)
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    return fake


def test_usages_add_up():
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert sum([Usage(1), Usage(2)], Usage()) == Usage(3)


def test_prices():
    used = Usage(5, 3_000_000, 1_000_000, 1_000_000)
    assert Prices(2, 10).cost(used) == pytest.approx(3 * 2 + 10)
    assert Prices(2, 10, 0.5).cost(used) == pytest.approx(2 * 2 + 0.5 + 10)
    assert Prices(2, 10, 0.5).cost(used, batch=True) == pytest.approx(14.5 / 2)
    assert Prices(2, 10, 0.5, batch_discount=0.25).cost(used, batch=True) == pytest.approx(14.5 * 0.75)
    for wrong in ((-1, 1), (1, -1), (1, 1, -1), (1, 1, 1, 2), (float("nan"), 1)):
        with pytest.raises(InvalidInputError, match="prices must be"):
            Prices(*wrong)


PASSAGES = [unit("One two three."), unit("Four five."), unit(" \n"), unit("One two three.")]


@pytest.mark.parametrize("prompt", [None, "Split it."])
def test_an_estimate_counts_prompts_as_they_are_sent(prompt):
    found = estimate(PASSAGES, Prices(1, 2), model="known", prompt=prompt)
    sent = [each for each in PASSAGES if each.text.strip()]
    exact = sum(len(prompt_for(each, prompt).split()) for each in sent)
    assert exact <= found.usage.prompt_tokens <= exact + 10 * len(sent)
    assert found.usage.completion_tokens == round(ANSWER_RATIO * 8)
    assert (found.passages, found.cached, found.usage.requests) == (4, 1, 3)
    assert found.counted_by == "tiktoken, words"
    assert found.cost == pytest.approx((found.usage.prompt_tokens + 2 * found.usage.completion_tokens) / 1e6)
    assert found.batch_cost == pytest.approx(found.cost / 2)


def test_the_cache_is_left_out(tmp_path):
    with PropositionCache(tmp_path / "cache") as cache:
        cache.put("m", PASSAGES[1:2], [["x"]])
        found = estimate(PASSAGES, name="m", cache=cache)
        assert (found.passages, found.cached, found.usage.requests) == (4, 3, 1)
        assert estimate(PASSAGES, name="other", cache=cache).usage.requests == 2
        with pytest.raises(InvalidInputError, match="needs the name"):
            estimate(PASSAGES, cache=cache)


def test_a_sample_tells_how_long_answers_are():
    found = estimate(PASSAGES, sample=Usage(10, 5000, 700))
    assert found.usage.completion_tokens == 210
    assert found.cost is found.batch_cost is None
    assert "about 210 tokens of answers" in str(found)


def test_without_tiktoken_or_its_files_a_rule_counts(monkeypatch, tiktoken):
    assert token_counter("unknown")[1] == "tiktoken, words"

    def fail(name):
        raise ConnectionError(name)

    tiktoken.encoding_for_model = fail
    assert token_counter("known") == (rough_tokens, "a rule: 4.5 characters a token")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    found = estimate([unit("x" * 450)])
    assert found.counted_by == "a rule: 4.5 characters a token"
    assert found.usage.completion_tokens == round(ANSWER_RATIO * 100)


def test_the_rule():
    assert rough_tokens("") == 0
    assert rough_tokens("word" * 90) == 80
    assert rough_tokens("東京タワー") == 5
    assert rough_tokens("Tokyo  ab 東京") == 2 + 2


def test_passages_are_not_held_in_memory():
    found = estimate((unit(f"{number}.") for number in range(3000)), model="known")
    assert (found.passages, found.usage.requests) == (3000, 3000)
    assert found.usage.prompt_tokens > 3000 * len(passage_input(unit("1.")).split())
