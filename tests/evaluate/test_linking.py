from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.mention import Candidate, Mention
from factoid.errors import InvalidInputError
from factoid.evaluate.linking import linking_statistics, strict_scores, title_accuracy

ROUEN, PARIS = Mention(0, 5, "Rouen"), Mention(10, 15, "Paris")


def test_spans_and_titles_must_be_the_same():
    annotated = [[ROUEN, PARIS], [Mention(0, 4, "Loire (river)")], []]
    found = [
        [ROUEN, Mention(10, 15, "Paris, Texas"), Mention(20, 25, "Seine")],  # one right, two wrong
        [Mention(0, 3, "Loire (river)")],  # another span
        [Mention(3, 5, "Lyon")],
    ]
    scores = strict_scores(found, annotated)
    assert (scores.correct, scores.found, scores.annotated) == (1, 5, 3)
    assert (scores.precision, scores.recall) == (1 / 5, 1 / 3)
    assert scores.f1 == pytest.approx(2 / (5 + 3))


def test_the_same_place_in_another_text_is_another_place():
    assert strict_scores([[ROUEN], []], [[], [ROUEN]]).correct == 0


def test_titles_are_compared_as_mediawiki_shows_them_or_as_resolved():
    found = [[Mention(0, 5, "loire_(river)")]]
    assert strict_scores(found, [[Mention(0, 5, "Loire (river)")]]).f1 == 1.0
    annotated = [[Mention(0, 5, "Loire")]]
    assert strict_scores(found, annotated).f1 == 0.0
    redirects = {"loire_(river)": "Loire"}
    assert strict_scores(found, annotated, resolve=lambda title: redirects.get(title, title)).f1 == 1.0


def test_nothing_found_or_annotated():
    nothing = strict_scores([[], []], [[], [ROUEN]])
    assert (nothing.precision, nothing.recall, nothing.f1) == (0.0, 0.0, 0.0)
    assert strict_scores([[]], [[]]).f1 == 0.0
    with pytest.raises(InvalidInputError, match="mentions of 1 texts, and annotations of 2"):
        strict_scores([[]], [[], []])


MENTIONS = st.lists(
    st.builds(lambda start, title: Mention(start, start + 2, title), st.integers(0, 3), st.sampled_from("AB")),
    max_size=4,
)


@given(st.lists(st.tuples(MENTIONS, MENTIONS), min_size=1, max_size=4))
def test_scores_against_counting_one_by_one(texts):
    true = false = missed = 0
    for found, annotated in texts:
        ours = {(each.start, each.end, each.title) for each in found}
        right = {(each.start, each.end, each.title) for each in annotated}
        true += sum(each in right for each in ours)
        false += sum(each not in right for each in ours)
        missed += sum(each not in ours for each in right)
    scores = strict_scores(*zip(*texts, strict=True))
    assert scores.precision == (true / (true + false) if true + false else 0)
    assert scores.recall == (true / (true + missed) if true + missed else 0)
    assert scores.f1 == pytest.approx(2 * true / (2 * true + false + missed) if true else 0)


def test_statistics():
    found = [[ROUEN, PARIS, Mention(20, 25, "rouen")], [], [PARIS], []]
    statistics = linking_statistics(found)
    assert (statistics.linked, statistics.most, statistics.average, statistics.texts) == (0.5, 2, 0.75, 4)
    with pytest.raises(InvalidInputError, match="at least one text"):
        linking_statistics([])


def test_title_accuracy():
    unsure = Mention(
        0, 7, "Mercury (planet)", 0.5, (Candidate("Mercury (planet)", 0.5), Candidate("Mercury (god)", 0.4))
    )
    found = [[ROUEN, PARIS], [unsure], [], [PARIS]]
    titles = ["paris", "Mercury_(god)", "Lyon", ["Lyon", "Paris"]]
    assert title_accuracy(found, titles) == 2 / 4
    assert title_accuracy(found, titles, candidates=True) == 3 / 4
    assert title_accuracy(found, titles, resolve=str.upper) == 2 / 4
    assert title_accuracy([[ROUEN]], [[]]) == 0.0
    with pytest.raises(InvalidInputError, match="1 titles for 2 texts"):
        title_accuracy([[], []], ["x"])


def test_what_is_no_list_of_lists():
    for measure in (
        lambda: strict_scores([ROUEN], [[ROUEN]]),
        lambda: strict_scores([[ROUEN]], [ROUEN]),
        lambda: linking_statistics([ROUEN]),
        lambda: title_accuracy([ROUEN], ["Rouen"]),
        lambda: title_accuracy([[ROUEN]], "R"),
    ):
        with pytest.raises(InvalidInputError, match="expected a list of"):
            measure()
