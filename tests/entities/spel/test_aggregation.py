"""Words, their subwords and what they stand for, and the phrases they make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.spel.aggregation import (
    PLAIN_CHARACTERS,
    find_phrases,
    group_subwords,
    join_abbreviations,
    resolve_word,
    split_words,
)
from factoid.entities.spel.predict import Prediction
from tests.entities.spel import tiny_spel


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" \t\n\u3000", []),
        ("one  two\nthree\u00a0four", ["one", "two", "three", "four"]),
        ("mid-way o'clock 3.14 a@b", ["mid-way", "o'clock", "3.14", "a@b"]),  # punctuation inside is no matter
        ("Etna's LAVA'S", ["Etna", "'s", "LAVA", "'S"]),
        ("Etna’s", ["Etna’s"]),  # only the ASCII apostrophe
        ("(Etna)", ["(", "Etna", ")"]),
        ("“Etna”", ["“Etna”"]),  # no ASCII punctuation
        ('("Etna\'s".)', ['("', "Etna's", '".)']),  # with punctuation around, 's stays
        ("Etna's,", ["Etna's", ","]),
        ("U.S.", ["U.S", "."]),
        ("...", ["..."]),
        ("--a", ["--", "a"]),
    ],
)
def test_words(text, words):
    assert [text[start:end] for start, end in split_words(text)] == words


def greedy(text, words, tokenizer):
    """Map as SpEL does: extend the subwords of a word until they decode to it."""
    ids = tokenizer.encode(text).ids[1:-1]
    groups, first = [], 0
    for start, end in words:
        last = first
        while tokenizer.decode(ids[first:last]).strip() != text[start:end]:
            last += 1
            assert last <= len(ids)
        groups.append(range(first, last))
        first = last
    return groups


PIECES = ["Ada Lovelace", "Mount", "Mira", "state's", "(quote)", "U.S.", "東京", "😀", "born,", "x-y", "?"]


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from([" ", "  ", " \n "]))
def test_the_mapping_is_that_of_decoding_subwords_one_after_the_other(pieces, space):
    pytest.importorskip("tokenizers")
    tokenizer = tiny_spel.make_tokenizer()
    text = space.join(pieces)
    words = split_words(text)
    assert group_subwords(words, tokenizer.encode(text).offsets[1:-1]) == greedy(text, words, tokenizer)


def test_documents_get_the_plain_characters_that_the_authors_give_them_and_no_others():
    changed = "‘a’ “b” „c” 1–2 — 3… • 4 Höör, Kōbe, Málaga, Genève, École, Iași, Perić, Čačak, Žižek, 5 €\ufeffa\u00a0b"
    plain = '\'a\' "b" "c" 1-2 - 3. . 4 Hoor, Kobe, Malaga, Geneve, Ecole, Iasi, Peric, Čacak, Žizek, 5 E a b'
    assert changed.translate(PLAIN_CHARACTERS) == plain
    others = "São José, Zürich, Dún, El Niño `a´ 5′ 3″ a·b «c» a\u200bb\u3000東京。「大阪」、\n"
    assert others.translate(PLAIN_CHARACTERS) == others


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He left the U.S. in May.", ["He", "left", "the", "U.S.", "in", "May", "."]),
        ("Dr. Who met Mr. Fog.", ["Dr.", "Who", "met", "Mr.", "Fog", "."]),
        ("She came. He went.", ["She", "came", ".", "He", "went", "."]),
        ("a list etc. and so on.", ["a", "list", "etc.", "and", "so", "on", "."]),
        ("the U.S., too", ["the", "U.S", ".,", "too"]),  # only a "." alone can be merged
        ("wait...", ["wait", "..."]),
        # A line break is a letter to Moses.
        ("its services.\n\nIn the U.S.\nToo", ["its", "services.", "In", "the", "U.S.", "Too"]),
        ("its services. \n\nIn", ["its", "services", ".", "In"]),
        ("a\x00b\x07c. the U.S. too", ["a\x00b\x07c.", "the", "U.S.", "too"]),  # Moses drops control characters
        ("& <b> the U.S. [x]", ["&", "<", "b", ">", "the", "U.S.", "[", "x", "]"]),  # and would escape these
    ],
)
def test_words_keep_the_full_stop_that_moses_leaves_them(text, words):
    pytest.importorskip("sacremoses")
    assert [text[start:end] for start, end in join_abbreviations(text, split_words(text))] == words


def test_no_entity_wins_a_tie_of_two_votes_to_two():
    for best, entity in (((5, 0, 0, 5), 0), ((7, 7, 5, 5), 7), ((5, 0), 5), ((7, 5, 5, 5, 0, 0), 5)):
        assert resolve_word([Prediction((vote,), (0.9,)) for vote in best], 0, 1).entity == entity


PERCENT = st.dictionaries(st.integers(0, 6), st.integers(1, 59), min_size=1, max_size=4)


@given(st.lists(PERCENT, min_size=1, max_size=4))
def test_against_a_resolution_written_from_the_description(drawn):
    listed = [{entity: table[entity] / 100 for entity in sorted(table, key=table.get, reverse=True)} for table in drawn]
    subwords = [Prediction(tuple(table), tuple(table.values())) for table in listed]
    tops = [subword.ids[0] for subword in subwords]
    means = {entity: sum(table.get(entity, 0.0) for table in listed) / len(listed) for entity in range(7)}
    shared = [entity for entity in range(7) if all(entity in table for table in listed)]
    word = resolve_word(subwords, 0, 1)
    if len(set(tops)) == 1:
        expected = {tops[0]}
    elif shared:
        best = max(means[entity] for entity in shared)
        expected = {entity for entity in shared if means[entity] == pytest.approx(best)}
    elif len(set(tops)) == len(tops):
        expected = {tops[0]}
    else:
        tied = [entity for entity in tops if tops.count(entity) == max(map(tops.count, tops))]
        expected = {0 if 0 in tied else tied[0]}
    assert word.entity in expected
    assert word.candidates == pytest.approx({entity: means[entity] for entity in shared or [word.entity]})


def phrases(text, entities, *, offsets=None):
    """Return (surface, id) of the phrases of a text, each word of which is one subword of the given id."""
    words = split_words(text)
    predictions = [Prediction((entity,), (0.5,)) for entity in entities]
    resolved = find_phrases(text, words, offsets or words, predictions)
    return [(text[phrase.start : phrase.end], phrase.entity) for phrase in resolved]


def test_words_in_a_row_of_one_id_are_a_phrase_outside_too():
    assert phrases("see the red Big Ben now", [0, 0, 0, 7, 7, 0]) == [("see the red", 0), ("Big Ben", 7), ("now", 0)]
    assert phrases("Rome Rome Oslo", [7, 7, 8]) == [("Rome Rome", 7), ("Oslo", 8)]
    # No white space stands around.
    assert phrases("a\nBen", [0, 7, 7], offsets=[(0, 1), (1, 2), (2, 5)]) == [("a", 0), ("Ben", 7)]


@pytest.mark.parametrize(
    ("words", "offsets"),
    [
        ([(0, 3), (3, 4), (4, 6), (6, 9)], [(0, 3), (3, 5), (5, 6), (6, 9)]),
        ([(0, 3), (3, 4), (4, 5), (6, 9)], [(0, 3), (3, 5), (6, 9)]),  # nothing is left for the third word
    ],
)
def test_a_word_without_subwords_is_skipped_and_separates_nothing(words, offsets):
    predictions = [Prediction((7,), (0.5,))] * len(offsets)
    (phrase,) = find_phrases("Ben').Ben", words, offsets, predictions)
    assert (phrase.start, phrase.end) == (0, 9)


def test_candidates_are_what_every_word_lists_by_the_mean_of_means():
    predictions = [Prediction((7, 8, 9), (0.5, 0.3, 0.1)), Prediction((7, 9, 8), (0.6, 0.3, 0.02))]
    (phrase,) = find_phrases("a b", [(0, 1), (2, 3)], [(0, 1), (2, 3)], predictions)
    expected = [(7, pytest.approx(0.55)), (9, pytest.approx(0.2)), (8, pytest.approx(0.16))]
    assert list(phrase.candidates.items()) == expected
    predictions[1:] = [Prediction((7, 9), (0.6, 0.3)), Prediction((7, 9), (0.2, 0.1))]  # a word of two subwords
    (phrase,) = find_phrases("a bc", [(0, 1), (2, 4)], [(0, 1), (2, 3), (3, 4)], predictions)
    assert list(phrase.candidates.items()) == [(7, pytest.approx(0.45)), (9, pytest.approx(0.15))]
