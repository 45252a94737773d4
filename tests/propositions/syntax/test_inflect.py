from __future__ import annotations

import pytest

from factoid.propositions.syntax.inflect import article, past_tense


@pytest.mark.parametrize(
    ("participle", "past"),
    [
        ("winning", "won"),
        ("beginning", "began"),
        ("quitting", "quit"),
        ("hearing", "heard"),
        ("sitting", "sat"),
        ("lying", "lay"),
        ("laying", "laid"),
        ("making", "made"),
        ("fleeing", "fled"),
        ("seeing", "saw"),
        ("being", "was"),
        ("Writing", "wrote"),
        ("co-writing", "co-wrote"),
        ("co-founding", "co-founded"),
        ("relying", "relied"),
        ("studying", "studied"),
        ("playing", "played"),
        ("dying", "died"),
        ("agreeing", "agreed"),
        ("travelling", "travelled"),
        ("stopping", "stopped"),
        ("using", "used"),
        ("receiving", "received"),
        ("visiting", "visited"),
    ],
)
def test_past_tense(participle: str, past: str) -> None:
    assert past_tense(participle) == past


@pytest.mark.parametrize("word", ["won", "ing", "king", "", "wins"])
def test_what_is_no_participle_has_no_past_tense(word: str) -> None:
    assert past_tense(word) is None


@pytest.mark.parametrize(
    "phrase",
    [
        "a singer",
        "an actor",
        "a European",
        "an hour",
        "a horn",
        "a university",
        "an uninhabited",
        "a one-time",
        "a US",
        "an heir",
    ],
)
def test_article_follows_the_sound(phrase: str) -> None:
    written, word = phrase.split()
    assert article(word) == written
