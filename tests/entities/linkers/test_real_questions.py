"""What the linker finds in real questions: a guard for what benchmarks/entities/linking.py measures."""

from __future__ import annotations

import pytest

from benchmarks.entities.title_sources import entity_questions, titles
from factoid.entities.articles.names import canonical_title
from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import make_store


@pytest.fixture(scope="module")
def questions(data):
    return entity_questions(data)


def test_questions_and_titles(data, questions):
    assert len(questions) == 22068
    assert {question.relation for question in questions if question.title == "Zynga"} == {"P112"}
    found = titles(data)
    assert len(found["EntityQuestions dev, subjects"]) > 21_000
    assert "Anarchism" in found["enwiki dump sample: articles and links"]


def test_titles_of_questions(tmp_path, questions):
    asked = questions[::20]
    known = {canonical_title(question.title) for question in questions}
    with make_store(tmp_path / "s", sorted(known)) as store:
        found = TitleLinker(store).link_batch([question.text for question in asked])
    right = [
        [mention.title for mention in mentions] == [canonical_title(question.title)]
        for question, mentions in zip(asked, found, strict=True)
    ]
    assert sum(right) / len(right) > 0.99
