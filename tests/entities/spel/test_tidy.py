"""What evaluations do to mentions, rule by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.mention import Mention
from factoid.entities.spel.tidy import tidy_mentions


def tidy(text, surface, title="Some Title", **options):
    start = text.index(surface)
    mentions = tidy_mentions(text, [Mention(start, start + len(surface), title, 0.5)], **options)
    return [text[mention.start : mention.end] for mention in mentions]


@pytest.mark.parametrize(
    ("surface", "title", "trimmed"),
    [
        ("Oslo's", "Oslo", "Oslo"),
        ("New York's", "New York City", "New York"),
        ("OSLO'S", "Oslo", "OSLO"),
        ("Wendy's", "Wendy's", "Wendy's"),  # the whole is in the title
        ("Macy's", "Macy of Macy's", "Macy's"),  # so are both
        ("capital's", "Oslo", "capital's"),  # the rest is not
    ],
)
def test_a_trailing_s_goes_where_the_rest_is_in_the_title_and_the_whole_is_not(surface, title, trimmed):
    assert tidy(f"in {surface} streets", surface, title) == [trimmed]


@pytest.mark.parametrize(
    ("text", "surface", "trimmed"),
    [
        ('the "(Oslo', '"(Oslo', "Oslo"),  # leading punctuation
        ("at  Oslo", "  Oslo", "Oslo"),  # leading space
        ("Oslo), or", "Oslo),", "Oslo"),  # trailing punctuation
        ("Oslo  or", "Oslo  ", "Oslo"),  # trailing space
        ("Oslo , or", "Oslo ,", "Oslo"),  # one rule makes way for another
        ("the U.S. is", "U.S.", "U.S."),  # its full stop stays
        ("the U.S.)", "U.S.)", "U.S."),
        ("the U.K. is", "U.K.", "U.K"),  # of these two only
        ("the U.S. is", "U.S", "U.S."),  # and it is taken in
        ("the u.n. is", "u.n", "u.n."),
    ],
)
def test_spans_are_trimmed(text, surface, trimmed):
    assert tidy(text, surface) == [trimmed]


def test_function_words_of_the_authors_and_empty_spans_are_dropped_and_no_others():
    for surface in ("the", "The", "of", "(of)", "...", "has", "th", "'s", "none"):
        assert tidy(f"x {surface} y", surface) == []
    for word in ("an", "it", "they", "which", "with", "not"):
        assert tidy(f"x {word} y", word) == [word]


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
