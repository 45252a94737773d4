from __future__ import annotations

import pytest

from factoid.propositions.syntax.lexicon import article, past_tense

PAST = (
    "winning won quitting quit hearing heard lying lay laying laid making made fleeing fled being was Writing wrote "
    "co-writing co-wrote co-founding co-founded relying relied playing played agreeing agreed using used"
).split()


@pytest.mark.parametrize(("participle", "past"), list(zip(PAST[::2], PAST[1::2], strict=True)))
def test_past_tense(participle: str, past: str) -> None:
    assert past_tense(participle) == past


@pytest.mark.parametrize("word", ["won", "ing", "king", "", "wins"])
def test_what_is_no_participle_has_no_past_tense(word: str) -> None:
    assert past_tense(word) is None


def test_article_follows_the_sound() -> None:
    words = ["singer", "European", "horn", "university", "one-time", "US"]
    assert {article(word) for word in words} == {"a"}
    assert {article(word) for word in ("actor", "hour", "uninhabited", "heir")} == {"an"}
