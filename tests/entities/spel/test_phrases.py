"""Words, their subwords and what they stand for, and the phrases they make."""

from __future__ import annotations

import pytest

from factoid.entities.spel.linker import cut_tokens, find_phrases, resolve_word, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" \t\n\u3000", []),
        ("one  two\nthree\u00a0four", ["one", "two", "three", "four"]),
        (
            "mid-way o'clock 3.14 a@b",
            ["mid-way", "o'clock", "3.14", "a@b"],
        ),  # punctuation inside is no matter
        ("Etna's LAVA'S", ["Etna", "'s", "LAVA", "'S"]),
        ("Etna’s", ["Etna’s"]),  # only the ASCII apostrophe
        ('("Etna\'s".)', ['("', "Etna's", '".)']),  # with punctuation around, 's stays
        ("U.S.", ["U.S", "."]),
        ("...", ["..."]),
    ],
)
def test_words(text, words):
    assert [text[start:end] for start, end in split_words(text)] == words


def test_no_entity_wins_a_tie_of_two_votes_to_two():
    for best, entity in (
        ((5, 0, 0, 5), 0),
        ((7, 7, 5, 5), 7),
        ((5, 0), 5),
        ((7, 5, 5, 5, 0, 0), 5),
    ):
        assert resolve_word([{vote: 0.9} for vote in best], 0, 1).entity == entity


def phrases(text, entities, *, offsets=None):
    """Return (surface, id) of the phrases of a text, each word of which is one subword of the given
    id.
    """
    words = split_words(text)
    predictions = [{entity: 0.5} for entity in entities]
    resolved = find_phrases(text, words, offsets or words, predictions)
    return [(text[phrase.start : phrase.end], phrase.entity) for phrase in resolved]


def test_words_in_a_row_of_one_id_are_a_phrase_outside_too():
    assert phrases("see the red Big Ben now", [0, 0, 0, 7, 7, 0]) == [
        ("see the red", 0),
        ("Big Ben", 7),
        ("now", 0),
    ]
    assert phrases("Rome Rome Oslo", [7, 7, 8]) == [("Rome Rome", 7), ("Oslo", 8)]
    # No white space stands around.
    assert phrases("a\nBen", [0, 7, 7], offsets=[(0, 1), (1, 2), (2, 5)]) == [("a", 0), ("Ben", 7)]


@pytest.mark.parametrize(
    ("words", "offsets"),
    [
        ([(0, 3), (3, 4), (4, 6), (6, 9)], [(0, 3), (3, 5), (5, 6), (6, 9)]),
        (
            [(0, 3), (3, 4), (4, 5), (6, 9)],
            [(0, 3), (3, 5), (6, 9)],
        ),  # nothing is left for the third word
    ],
)
def test_a_word_without_subwords_is_skipped_and_separates_nothing(words, offsets):
    predictions = [{7: 0.5}] * len(offsets)
    (phrase,) = find_phrases("Ben').Ben", words, offsets, predictions)
    assert (phrase.start, phrase.end) == (0, 9)


def test_candidates_are_what_every_word_lists_by_the_mean_of_means():
    predictions = [{7: 0.5, 8: 0.3, 9: 0.1}, {7: 0.6, 9: 0.3, 8: 0.02}]
    (phrase,) = find_phrases("a b", [(0, 1), (2, 3)], [(0, 1), (2, 3)], predictions)
    expected = [(7, pytest.approx(0.55)), (9, pytest.approx(0.2)), (8, pytest.approx(0.16))]
    assert list(phrase.candidates.items()) == expected
    predictions[1:] = [{7: 0.6, 9: 0.3}, {7: 0.2, 9: 0.1}]  # a word of two subwords
    (phrase,) = find_phrases("a bc", [(0, 1), (2, 4)], [(0, 1), (2, 3), (3, 4)], predictions)
    assert list(phrase.candidates.items()) == [(7, pytest.approx(0.45)), (9, pytest.approx(0.15))]


def test_long_texts_are_cut_where_sentences_begin_if_possible():
    text = "One is here. Two is there. Three."
    offsets = split_words(text)
    parts = [
        text[offsets[part.start][0] : offsets[part.stop - 1][1]]
        for part in cut_tokens(text, offsets, 8)
    ]
    assert parts == ["One is here. Two is there.", "Three."]
    assert list(cut_tokens("a b c d e", [(at, at + 1) for at in range(0, 10, 2)], 2)) == [
        range(2),
        range(2, 4),
        range(4, 5),
    ]
    assert list(cut_tokens("", [], 2)) == []
