"""What a word stands for, rule by rule; probabilities are chosen so that another rule would give another answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.spel.resolve import Prediction, mean_of_words, resolve_word


def subword(**listed):
    """Return a prediction of ids e0, e1 …, best first as written."""
    return Prediction(tuple(int(name[1:]) for name in listed), tuple(listed.values()))


def resolve(*subwords):
    return resolve_word(subwords, 0, 1)


def test_candidates_are_what_all_subwords_list_by_mean_probability():
    word = resolve(subword(e5=0.5, e6=0.4, e7=0.1), subword(e6=0.6, e8=0.2, e5=0.1))
    assert list(word.candidates) == [6, 5]
    assert word.candidates == pytest.approx({6: 0.5, 5: 0.3})


def test_an_entity_that_is_best_for_all_subwords_is_taken():
    word = resolve(subword(e5=0.4, e6=0.3), subword(e5=0.5, e6=0.4))
    assert (word.entity, word.score) == (5, pytest.approx(0.45))


def test_else_the_candidate_with_the_best_mean_is_taken():
    word = resolve(subword(e5=0.6, e6=0.5), subword(e7=0.5, e6=0.4, e5=0.0))
    assert (word.entity, word.score) == (6, pytest.approx(0.45))


def test_a_majority_does_not_matter_while_there_are_candidates():
    listed = [subword(e5=0.4, e6=0.3), subword(e5=0.4, e6=0.3), subword(e6=0.9, e5=0.0)]
    assert resolve(*listed).entity == 6


def test_without_a_candidate_the_most_frequent_best_is_taken():
    word = resolve(subword(e4=0.9), subword(e5=0.3), subword(e5=0.3))
    assert (word.entity, word.candidates) == (5, {})


def test_without_a_candidate_the_first_best_is_taken_where_all_differ():
    assert resolve(subword(e7=0.1), subword(e5=0.9), subword(e6=0.9)).entity == 7


def test_an_id_that_a_subword_does_not_list_counts_zero():
    assert resolve(subword(e4=0.9), subword(e5=0.3), subword(e5=0.3)).score == pytest.approx(0.2)


def test_outside_is_an_id_like_others():
    assert resolve(subword(e0=0.9, e5=0.1), subword(e5=0.5, e0=0.4)).entity == 0


def test_the_mean_of_words_is_of_their_means_and_not_of_subwords():
    words = [resolve(subword(e5=0.9)), resolve(subword(e5=0.2), subword(e5=0.4))]
    assert mean_of_words(words, 5) == pytest.approx((0.9 + 0.3) / 2)


ids = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)


@given(
    st.lists(ids.flatmap(lambda some: st.tuples(st.just(some), st.permutations(range(1, 60)))), min_size=1, max_size=4)
)
def test_against_a_resolution_written_from_the_description(drawn):
    subwords = [
        Prediction(tuple(some), tuple(sorted((p / 100 for p in weights[: len(some)]), reverse=True)))
        for some, weights in drawn
    ]
    listed = [dict(zip(one.ids, one.probabilities, strict=True)) for one in subwords]
    tops = [one.ids[0] for one in subwords]
    means = {entity: sum(one.get(entity, 0.0) for one in listed) / len(listed) for entity in range(7)}
    shared = [entity for entity in range(7) if all(entity in one for one in listed)]
    word = resolve_word(subwords, 0, 1)
    if len(set(tops)) == 1:
        expected = {tops[0]}
    elif shared:
        best = max(means[entity] for entity in shared)
        expected = {entity for entity in shared if means[entity] == pytest.approx(best)}
    else:
        expected = {max(tops, key=tops.count)}  # the first of several
    assert word.entity in expected
    assert word.score == pytest.approx(means[word.entity])
    assert word.candidates == pytest.approx({entity: means[entity] for entity in shared})
