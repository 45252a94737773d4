from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError
from factoid.evaluate.linking import linking_statistics, strict_scores, title_accuracy

ROUEN, PARIS = Mention(0, 5, "Rouen"), Mention(10, 15, "Paris")


def test_titles_are_compared_as_mediawiki_shows_them_or_as_resolved():
    linked, annotated = [[Mention(0, 5, "loire_(river)")]], [[Mention(0, 5, "Loire")]]
    assert strict_scores(linked, [[Mention(0, 5, "Loire (river)")]]).f1 == 1.0
    assert strict_scores(linked, annotated).f1 == 0.0
    assert strict_scores(linked, annotated, resolve=lambda title: title.title().removesuffix("_(River)")).f1 == 1.0


MENTIONS = st.lists(
    st.builds(lambda start, title: Mention(start, start + 2, title), st.integers(0, 3), st.sampled_from("AB")),
    max_size=4,
)


@given(st.lists(st.tuples(MENTIONS, MENTIONS), min_size=1, max_size=4))
def test_scores_against_counting_one_by_one(texts):
    true = false = missed = 0
    for linked, annotated in texts:
        ours = {(mention.start, mention.end, mention.title) for mention in linked}
        right = {(mention.start, mention.end, mention.title) for mention in annotated}
        true += sum(mention in right for mention in ours)
        false += sum(mention not in right for mention in ours)
        missed += sum(mention not in ours for mention in right)
    scores = strict_scores(*zip(*texts, strict=True))
    assert scores.precision == (true / (true + false) if true + false else 0)
    assert scores.recall == (true / (true + missed) if true + missed else 0)
    assert scores.f1 == pytest.approx(2 * true / (2 * true + false + missed) if true else 0)
    assert (scores.correct, scores.linked, scores.annotated) == (true, true + false, true + missed)


def test_statistics():
    linked = [[ROUEN, PARIS, Mention(20, 25, "rouen")], [], [PARIS], []]
    assert astuple(linking_statistics(linked)) == (0.5, 2, 0.75, 4)


def test_title_accuracy():
    linked = [[ROUEN, PARIS], [Mention(0, 7, "Mercury (planet)")], [], [PARIS]]
    titles = ["paris", "Mercury_(god)", "Lyon", ["Lyon", "Paris"]]
    assert title_accuracy(linked, titles) == 2 / 4
    assert title_accuracy([[ROUEN]], [[]]) == 0.0


@pytest.mark.parametrize(
    ("measure", "arguments", "problem"),
    [
        (strict_scores, ([[]], [[], []]), "as many lists of mentions as lists of annotations, got 1 and 2"),
        (linking_statistics, ([],), "at least one text"),
        (linking_statistics, ([ROUEN],), "expected a list of"),
        (title_accuracy, ([[ROUEN]], "R"), "expected a list of"),
    ],
)
def test_texts_that_do_not_fit(measure, arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        measure(*arguments)
