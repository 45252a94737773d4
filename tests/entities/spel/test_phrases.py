"""Words into phrases, rule by rule."""

from __future__ import annotations

import pytest

from factoid.entities.spel.phrases import find_phrases
from factoid.entities.spel.resolve import Prediction
from factoid.entities.spel.words import split_words


def phrases(text, entities, *, offsets=None):
    """Return (surface, id) of the phrases of a text, each word of which is one subword of the given id."""
    words = split_words(text)
    offsets = words if offsets is None else offsets
    predictions = [entity if isinstance(entity, Prediction) else Prediction((entity,), (0.5,)) for entity in entities]
    return [(text[one.start : one.end], one.entity) for one in find_phrases(text, words, offsets, predictions)]


def test_words_in_a_row_of_one_id_are_a_phrase_outside_too():
    found = phrases("see the red Big Ben now", [0, 0, 0, 7, 7, 0])
    assert found == [("see the red", 0), ("Big Ben", 7), ("now", 0)]


def test_neighbouring_mentions_of_one_entity_merge_and_of_two_do_not():
    assert phrases("Rome Rome Oslo", [7, 7, 8]) == [("Rome Rome", 7), ("Oslo", 8)]


def test_a_word_without_subwords_is_skipped_and_separates_nothing():
    text = "Ben').Ben"  # one piece with punctuation inside is one word, so words are given by hand
    words = [(0, 3), (3, 4), (4, 6), (6, 9)]
    offsets = [(0, 3), (3, 5), (5, 6), (6, 9)]
    predictions = [Prediction((7,), (0.5,))] * 4
    assert [(one.start, one.end) for one in find_phrases(text, words, offsets, predictions)] == [(0, 9)]
    words = [(0, 3), (3, 4), (4, 5), (6, 9)]
    offsets = [(0, 3), (3, 5), (6, 9)]  # nothing is left for the third word
    found = find_phrases("Ben'). Ben"[:9], words, offsets, predictions[:3])
    assert [(one.start, one.end, len(one.words)) for one in found] == [(0, 9, 3)]


def test_a_span_goes_from_the_first_subword_to_the_last():
    assert phrases("a Benjamin b", [0, 7, 7, 0], offsets=[(0, 1), (2, 5), (5, 10), (11, 12)])[1] == ("Benjamin", 7)


def test_a_span_has_no_white_space_around_it():
    assert phrases("a\nBen", [0, 7, 7], offsets=[(0, 1), (1, 2), (2, 5)]) == [("a", 0), ("Ben", 7)]


def test_a_score_is_the_mean_of_the_words_means():
    words, offsets = [(0, 1), (2, 4)], [(0, 1), (2, 3), (3, 4)]
    predictions = [Prediction((7,), (0.9,)), Prediction((7,), (0.2,)), Prediction((7,), (0.4,))]
    (phrase,) = find_phrases("a bc", words, offsets, predictions)
    assert phrase.score == pytest.approx(0.6)


def test_candidates_are_what_every_word_lists_by_the_mean_of_means():
    predictions = [Prediction((7, 8, 9), (0.5, 0.3, 0.1)), Prediction((7, 9, 8), (0.6, 0.3, 0.02))]
    (phrase,) = find_phrases("a b", [(0, 1), (2, 3)], [(0, 1), (2, 3)], predictions)
    assert phrase.candidates() == [(7, pytest.approx(0.55)), (9, pytest.approx(0.2)), (8, pytest.approx(0.16))]
    predictions[1] = Prediction((7, 9), (0.6, 0.3))
    (phrase,) = find_phrases("a b", [(0, 1), (2, 3)], [(0, 1), (2, 3)], predictions)
    assert [entity for entity, _ in phrase.candidates()] == [7, 9]


def test_a_text_without_words_has_no_phrases():
    assert find_phrases("", [], [], []) == []
