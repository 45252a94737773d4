"""The lexical index beside BM25 as its papers write it, a loop over all texts."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.vectors.lexical import LexicalIndex

NOTHING = np.empty(0, np.int64)
WORDS = st.lists(st.sampled_from("heron tern sensor valve 40 x200 volt".split()), max_size=12).map(
    " ".join
)


def filled(texts, *, language=""):
    index = LexicalIndex(language)
    index.update(NOTHING, np.arange(len(texts)), texts)
    return index


def scores(index, query):
    """Return the score of each row, by row."""
    every = index.scores(index.terms(query))
    return {
        row: float(every[place])
        for row, place in zip(index.rows, index.places(index.rows), strict=True)
    }


def matching(index, query):
    return [row for row, score in scores(index, query).items() if score > 0]


def bm25(query, texts):
    """Robertson's BM25 with k1 = 0.3 and b = 0.75, as Lucene computes it."""
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    average = sum(map(len, words)) / len(words)
    totals = np.zeros(len(texts))
    for term in set(query.split()):
        frequency = sum(term in text for text in words)
        weight = math.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
        for row, text in enumerate(words):
            count = text.count(term)
            totals[row] += (
                weight * count * 1.3 / (count + 0.3 * (0.25 + 0.75 * len(text) / (average or 1)))
            )
    return totals


@settings(deadline=None, max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=8), WORDS, st.sets(st.integers(0, 7)))
def test_scores_are_those_of_bm25(texts, query, rows):
    index = filled(texts)
    oracle = bm25(query, texts)
    np.testing.assert_allclose(list(scores(index, query).values()), oracle, rtol=1e-5)
    chosen = np.array(sorted(row for row in rows if row < len(texts)), np.int64)
    shares = index.relative_scores(query, index.places(chosen))
    weights = [
        math.log(1 + (len(texts) - count + 0.5) / (count + 0.5))
        for count in frequencies(query, texts)
    ]
    np.testing.assert_allclose(shares, oracle[chosen] / (1.3 * sum(weights) or 1), rtol=1e-5)
    assert (shares <= 1).all()


def frequencies(query, texts):
    """Return in how many texts each word of the query is."""
    return [sum(term in text.lower().split() for text in texts) for term in set(query.split())]


def test_a_share_is_of_the_words_of_the_query_whatever_other_texts_have():
    index = filled(["a heron", "a tern", "a tern, a heron, a gull", *["an owl"] * 20])
    [alone] = index.relative_scores("heron tern", index.places(np.array([0])))
    beside = index.relative_scores("heron tern", index.places(np.array([0, 1, 2])))
    assert alone == beside[0]
    assert beside[0] < beside[2] < 1
    [with_unknown] = index.relative_scores("heron tern kestrel", index.places(np.array([0])))
    assert with_unknown < alone


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 15), WORDS), max_size=30),
    WORDS,
    st.integers(1, 4),
)
def test_scores_do_not_depend_on_how_an_index_came_about(steps, query, block):
    """Rows come, go and come again, in blocks of any size, through files and without them: only
    what is there counts.
    """
    index, texts = LexicalIndex(""), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("factoid.vectors.lexical._BLOCK", block)
        patch.setattr("factoid.vectors.lexical._MOST_TEXTS", 4)
        for through_files, row, text in steps:
            index.update(np.array([row]), np.array([row]), [text])
            texts[row] = text
            gone = np.array([row // 2, 77])
            index.update(gone, NOTHING, [])
            texts.pop(row // 2, None)
            if through_files:
                index = LexicalIndex.from_arrays("", index.arrays())
    fresh = LexicalIndex("")
    fresh.update(NOTHING, np.array(sorted(texts), np.int64), [texts[row] for row in sorted(texts)])
    assert len(index) == len(texts)
    assert index.rows.tolist() == sorted(texts)
    assert scores(index, query) == scores(fresh, query)


def test_removed_rows_are_never_found_and_a_row_can_come_again():
    index = filled(["a heron", "a tern", "a heron and a tern", "an owl", "an owl"])
    index.update(np.array([0, 77]), NOTHING, [])
    assert matching(index, "heron") == [2]
    assert index.relative_scores("heron", index.places(np.array([0, 2, 99]))).tolist()[::2] == [
        0,
        0,
    ]
    index.update(np.array([2]), np.array([0]), ["a kestrel"])
    assert len(index) == 4
    assert matching(index, "heron") == []
    assert matching(index, "kestrel") == [0]


def test_an_index_without_texts_finds_nothing():
    index = LexicalIndex()
    assert index.relative_scores("heron", np.array([-1, -1])).tolist() == [0, 0]
    assert LexicalIndex.from_arrays("en", index.arrays()).rows.tolist() == []


def broken(name, change):
    def damage(arrays):
        return arrays | {name: change(arrays[name].copy())}

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        broken("rows", lambda rows: rows.astype(np.int32)),
        broken("rows", lambda rows: rows[:-1]),
        broken("rows", lambda rows: rows * 0),
        broken("lengths", lambda lengths: -lengths),
        broken("terms 0", lambda terms: terms[::-1]),
        broken("starts 0", lambda starts: starts[:-1]),
        broken("starts 0", lambda starts: starts[::-1]),
        broken("starts 0", lambda starts: starts + 1),
        broken("texts 0", lambda texts: texts + 1),
        broken("sizes", lambda sizes: sizes - 1),
        broken("sizes", lambda sizes: sizes * 0),
        broken("sizes", lambda sizes: sizes << 40),
        broken("texts 0", lambda texts: texts.reshape(1, -1)),
        broken("counts 0", lambda counts: counts[:-1]),
        broken("counts 0", lambda counts: counts.astype(np.int64)),
    ],
)
def test_arrays_that_would_lead_a_search_astray_are_refused(damage):
    arrays = filled(["a heron", "a tern"]).arrays()
    with pytest.raises(ValueError, match="not a lexical index"):
        LexicalIndex.from_arrays("", damage(arrays))


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("en", "The valves were closing.", "closed valve"),
        ("en", "Müller's café", "muller cafe"),
        ("en", "It runs at 400 V.", "400 v"),
        ("en", "The Who played in Leeds.", "the who"),
        ("de", "Die Ventile schlossen.", "ventil"),
        ("de", "Sie wohnt in der Straße.", "STRASSE"),
        ("", "İstanbul", "istanbul"),
        ("tr", "İZMİRDE", "izmirde"),
        ("en", "The to\u200bwer \u200fleans\u200f", "towers"),
        ("", "Łódź, Ærø", "lodz aero"),
        (
            "en",
            "a soft\u00adhyphen, a zero\u200bwidth and \u202bmarks\u202c",
            "softhyphen zerowidth marks",
        ),
        ("hi", "हिन्दी में लिखा", "हिन्दी"),
        # points of Arabic, Hebrew, Syriac, in the text or in the query, and a longer line
        ("", "بَيْتٌ قديم", "بيت"),
        ("", "بيت قديم", "بَيْتٌ"),
        ("ar", "مدرسـةٌ كبيرة", "مدرسة"),
        ("en", "المــاء بارد", "الماء"),
        ("", "שָׁלוֹם רב", "שלום"),
        ("", "\ufb2aלום", "שלום"),
        ("", "ܡܲܠܟܵܐ", "ܡܠܟܐ"),
        ("en", "掃除機 X1の保証は二年です。", "保証"),
        ("en", "掃除機 X1の保証", "証"),
        ("en", "สวัสดีครับ ผมชื่อจอห์น", "ชื่อ"),
        ("en", "배터리를 충전하세요", "배터리"),
    ],
)
def test_words_are_found_in_other_forms_and_scripts(language, text, query):
    index = filled(["nothing of it", text], language=language)
    assert matching(index, query) == [1]
    assert set(index.terms(query)) <= set(filled([text], language=language)._terms.of_text(text))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("हिन्दी", "हन्द"),  # vowel signs of other scripts are letters
        ("தமிழ்", "தமழ"),
        ("בית־ספר", "ביתספר"),  # a hyphen
        ("أكل", "كل"),
    ],
)
def test_marks_that_tell_words_apart_count(text, query):
    index = filled(["nothing of it", text], language="")
    assert matching(index, query) == []


def test_question_words_do_not_count_beside_others():
    index = filled(["What is this?", "A heron."], language="en")
    assert matching(index, "what is a heron?") == [1]
    assert matching(index, "what is") == [0]


@pytest.mark.parametrize(
    "query",
    ["", " ", "?!", '"', "a AND (b", "text:x", "x" * 10_000, "\0", "\ud800", "wing " * 5000],
)
def test_a_query_has_no_syntax(query):
    index = filled(["a heron"], language="en")
    assert matching(index, query) == []


def test_an_unknown_language_is_refused():
    with pytest.raises(InvalidInputError, match=r"'xx'.*'en'"):
        LexicalIndex("xx")
