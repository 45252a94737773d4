from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.mention import Mention
from factoid.evaluate.linking import strict_f1, title_accuracy

ROUEN, PARIS = Mention(0, 5, "Rouen"), Mention(10, 15, "Paris")
MENTIONS = st.lists(
    st.builds(
        lambda start, title: Mention(start, start + 2, title),
        st.integers(0, 3),
        st.sampled_from("AB"),
    ),
    max_size=4,
)


@given(st.lists(st.tuples(MENTIONS, MENTIONS), min_size=1, max_size=4))
def test_f1_against_counting_one_by_one(texts):
    true = false = missed = 0
    for linked, annotated in texts:
        ours, right = set(linked), set(annotated)
        true += sum(mention in right for mention in ours)
        false += sum(mention not in right for mention in ours)
        missed += sum(mention not in ours for mention in right)
    f1 = strict_f1(*zip(*texts, strict=True))
    assert f1 == pytest.approx(2 * true / (2 * true + false + missed) if true else 0)


def test_titles_are_compared_as_mediawiki_shows_them_or_as_resolved():
    linked, annotated = [[Mention(0, 5, "loire_(river)")]], [[Mention(0, 5, "Loire")]]
    assert strict_f1(linked, [[Mention(0, 5, "Loire (river)")]]) == 1.0
    assert strict_f1(linked, annotated) == 0.0
    assert (
        strict_f1(linked, annotated, resolve=lambda title: title.title().removesuffix("_(River)"))
        == 1.0
    )


def test_title_accuracy():
    linked = [[ROUEN, PARIS], [Mention(0, 7, "Mercury (planet)")], [], [PARIS]]
    assert title_accuracy(linked, ["paris", "Mercury_(god)", "Lyon", ["Lyon", "Paris"]]) == 2 / 4
