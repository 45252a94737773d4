"""What evaluations do to mentions, rule by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.mention import Mention
from factoid.entities.spel.tidy import tidy_mentions


@pytest.mark.parametrize(
    ("text", "surface", "title", "trimmed"),
    [
        # A trailing 's goes where the rest is in the title and the whole is not.
        ("in New York's streets", "New York's", "New York City", "New York"),
        ("in OSLO'S streets", "OSLO'S", "Oslo", "OSLO"),
        ("in Macy's streets", "Macy's", "Macy of Macy's", "Macy's"),
        ("the capital's streets", "capital's", "Oslo", "capital's"),
        # So do punctuation and spaces around, one after the other, but for the stop of two abbreviations.
        ('the "(Oslo', '"(Oslo', "x", "Oslo"),
        ("at  Oslo", "  Oslo", "x", "Oslo"),
        ("Oslo), or", "Oslo),", "x", "Oslo"),
        ("Oslo , or", "Oslo , ", "x", "Oslo"),
        ("the U.S.)", "U.S.)", "x", "U.S."),
        ("the U.S. is", "U.S", "x", "U.S."),
        ("the u.n. is", "u.n", "x", "u.n."),
        ("the U.K. is", "U.K.", "x", "U.K"),
        # Function words of the authors and empty spans are dropped, and no others.
        *((f"x {word} y", word, "x", None) for word in ("The", "(of)", "...", "has", "th", "'s", "none")),
        *((f"x {word} y", word, "x", word) for word in ("an", "it", "they", "which", "with", "not")),
    ],
)
def test_spans_are_trimmed(text, surface, title, trimmed):
    start = text.index(surface)
    tidied = tidy_mentions(text, [Mention(start, start + len(surface), title, 0.5)])
    assert [text[mention.start : mention.end] for mention in tidied] == ([] if trimmed is None else [trimmed])


@pytest.mark.parametrize("redirects", [{"Old_Oslo": "Oslo,_Norway"}, {"Old Oslo": "Oslo, Norway"}])
def test_titles_are_redirected_once_and_others_stay(redirects):
    mentions = [Mention(0, 4, "Old Oslo", 0.5), Mention(5, 9, "Rome", 0.4)]
    tidied = tidy_mentions("Oslo Rome", mentions, redirects={**redirects, "Oslo, Norway": "Elsewhere"})
    assert tidied == [Mention(0, 4, "Oslo, Norway", 0.5), Mention(5, 9, "Rome", 0.4)]


@given(st.text(alphabet="aU.SuN.s' (),", min_size=1, max_size=20), st.data())
def test_tidying_twice_changes_nothing_more(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    once = tidy_mentions(text, [Mention(start, end, "a's")])
    assert tidy_mentions(text, once) == once
    assert all(0 <= mention.start < mention.end <= len(text) for mention in once)
