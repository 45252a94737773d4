"""The lexical index beside BM25 as its papers write it, a loop over all texts."""

import gc
import math
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import InvalidInputError

pytest.importorskip("tantivy", reason="needs factoid[lexical]")
from factoid.index.lexical import LexicalIndex

NOTHING = np.empty(0, np.int64)
WORDS = st.lists(st.sampled_from("heron tern sensor valve 40 x200 volt".split()), max_size=12).map(" ".join)


def filled(texts, *, language="", on_disk=False):
    index = LexicalIndex(language, on_disk=on_disk)
    index.update(NOTHING, np.arange(len(texts)), texts)
    return index


def bm25(query, texts):
    """Robertson's BM25 with k1 = 1.2 and b = 0.75, as Lucene computes it."""
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    average = sum(map(len, words)) / len(words)
    scores = np.zeros(len(texts))
    for term in set(query.split()):
        frequency = sum(term in text for text in words)
        weight = math.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
        for row, text in enumerate(words):
            count = text.count(term)
            scores[row] += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / (average or 1)))
    return scores


@settings(deadline=None, max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=8), WORDS, st.sets(st.integers(0, 7)))
def test_scores_are_those_of_bm25(texts, query, rows):
    index = filled(texts)
    oracle = bm25(query, texts)
    rows = np.array(sorted(row for row in rows if row < len(texts)), np.int64)
    np.testing.assert_allclose(index.scores(index.words(query), rows), oracle[rows], rtol=1e-5)
    best = [row for row in np.lexsort((np.arange(len(texts)), -oracle.round(5))) if oracle[row] > 0]
    ranked, scores = index.search(index.words(query), len(texts))
    np.testing.assert_allclose(scores, oracle[ranked], rtol=1e-5)
    assert set(ranked) == set(best)
    chosen, _ = index.search(index.words(query), len(texts), allowed=rows)
    assert set(chosen) == set(best) & set(rows.tolist())


@settings(deadline=None, max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_the_expected_score_is_that_of_all_words_once_in_a_text_of_average_length(texts, query):
    frequencies = [sum(term in text.lower().split() for text in texts) for term in set(query.split())]
    weights = [math.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5)) for frequency in frequencies]
    index = filled(texts)
    assert index.expected_score(index.words(query)) == pytest.approx(sum(weights))


@pytest.mark.parametrize("best", [3, 4096])
def test_shares_that_are_added_rank_as_if_all_texts_were_scored(monkeypatch, best):
    monkeypatch.setattr("factoid.index.lexical.BEST", best)
    index = filled(["heron " * (row % 3) + "tern " * (row % 5) + "valve" for row in range(40)])
    rows, chance = np.arange(0, 40, 2), np.random.default_rng(0).random(20).astype(np.float32)
    every = index.scores(index.words("heron tern"), rows) / index.ask("heron tern").highest
    totals = chance.copy()
    shares = index.ask("heron tern", best).add(totals, rows, 2, lambda totals: np.argsort(-totals), 4)
    assert (shares == every).all() or best == 3
    assert np.isin(shares, [*every, 0]).all()
    expected = chance + 2 * every
    assert np.sort(totals)[-4:].tolist() == np.sort(expected)[-4:].tolist()
    assert not len(index.ask("kestrel").rows)


def test_a_wide_filter_is_searched_until_k_are_found(monkeypatch):
    monkeypatch.setattr("factoid.index.lexical._FEW", 3)
    texts = ["heron" * (row % 2) + " tern" * (row + 1) for row in range(50)]
    index = filled(texts)
    allowed = np.arange(40, 50)
    rows, scores = index.search(index.words("tern"), 5, allowed=allowed)
    oracle, _ = index.search(index.words("tern"), 50)
    assert rows.tolist() == [row for row in oracle.tolist() if row >= 40][:5]
    np.testing.assert_array_equal(scores, index.scores(index.words("tern"), rows))


def test_removed_rows_are_never_found_and_a_row_can_come_again():
    index = filled(["a heron", "a tern", "a heron and a tern"])
    index.update(np.array([0, 2, 77]), np.array([2]), ["a kestrel"])
    assert len(index) == 2
    assert index.search(index.words("heron"), 3)[0].tolist() == []
    assert index.search(index.words("kestrel"), 3)[0].tolist() == [2]


def test_an_index_comes_back_from_its_files_and_goes_on():
    index = filled(["a heron", "a tern"], on_disk=True)
    copy = LexicalIndex("", files=index.files())
    copy.update(np.array([0]), np.array([5]), ["another heron"])
    assert copy.search(copy.words("heron"), 3)[0].tolist() == [5]
    assert index.search(index.words("heron"), 3)[0].tolist() == [0]
    with pytest.raises(InvalidInputError, match="on_disk=True"):
        filled(["a heron"]).files()
    with pytest.raises(ValueError, match=r"(?i)json|corrupt|meta"):
        LexicalIndex("", files=index.files() | {"meta.json": np.frombuffer(b"{", np.uint8)})


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("en", "The valves were closing.", "closed valve"),
        ("en", "Müller's café", "muller cafe"),
        ("en", "It runs at 400 V.", "400 v"),
        ("en", "The Who played in Leeds.", "the who"),
        ("de", "Die Ventile schlossen.", "ventil"),
        ("en", "掃除機 X1の保証は二年です。", "保証"),
        ("en", "掃除機 X1の保証", "証"),
        ("en", "สวัสดีครับ ผมชื่อจอห์น", "ชื่อ"),
        ("en", "배터리를 충전하세요", "배터리"),
    ],
)
def test_words_are_found_in_other_forms_and_scripts(language, text, query):
    index = filled(["nothing of it", text], language=language)
    assert index.search(index.words(query), 5)[0].tolist() == [1]


def test_question_words_do_not_count_beside_others():
    index = filled(["What is this?", "A heron."], language="en")
    assert index.search(index.words("what is a heron?"), 5)[0].tolist() == [1]
    assert index.search(index.words("what is"), 5)[0].tolist() == [0]


@pytest.mark.parametrize("query", ["", " ", "?!", '"', "a AND (b", "text:x", "x" * 10_000, "\0", "wing " * 5000])
def test_a_query_has_no_syntax(query):
    index = filled(["a heron"], language="en")
    assert index.search(index.words(query), 3)[0].tolist() == []


def test_an_unknown_language_is_refused():
    with pytest.raises(InvalidInputError, match=r"'xx'.*'en'"):
        LexicalIndex("xx")


def test_a_fork_leaves_the_folder_to_its_parent():
    index = filled(["a heron"], on_disk=True)
    process = os.fork()
    if process == 0:
        del index
        gc.collect()
        os._exit(0)
    os.waitpid(process, 0)
    assert index.files()
    assert index.search(index.words("heron"), 1)[0].tolist() == [0]
