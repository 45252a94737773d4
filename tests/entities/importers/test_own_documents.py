"""Documents of one's own, and Parquet files."""

from __future__ import annotations

import json

import pytest

from factoid import Document
from factoid.entities.articles import Article, ArticleStore, build_articles
from factoid.entities.importers import ArticleJsonl, OwnDocuments
from factoid.errors import InvalidInputError

GLOSSARY = [
    Document("A fee for late payment.", "Dunning fee", id="1", metadata={"aliases": ["late fee", "DF"], "page": 3}),
    Document("A person who owes.", id="2", metadata={"title": "Debtor"}),
    Document("Owed money.", "Debt", id="3", metadata={"aliases": "liability", "title": "other"}),
]


def test_titles_aliases_and_metadata():
    assert list(OwnDocuments(GLOSSARY).read()) == [
        Article(
            "Dunning fee", "A fee for late payment.", ("late fee", "DF"), metadata=GLOSSARY[0].metadata, document_id="1"
        ),
        Article("Debtor", "A person who owes.", metadata={"title": "Debtor"}, document_id="2"),
        Article("Debt", "Owed money.", ("liability",), metadata=GLOSSARY[2].metadata, document_id="3"),
    ]
    assert [article.title for article in OwnDocuments(GLOSSARY).read(2)] == ["Debt"]


def test_other_keys():
    document = Document("x", "A", metadata={"name": "B", "also": ("C", "D")})
    (article,) = OwnDocuments([document], title_key="name", aliases_key="also").read()
    assert (article.title, article.aliases) == ("B", ("C", "D"))
    with pytest.raises(InvalidInputError, match=r"expected metadata\['term'\], got ''"):
        list(OwnDocuments([document], title_key="term").read())


def test_a_glossary_becomes_a_store(tmp_path):
    build_articles(tmp_path / "a", OwnDocuments(iter(GLOSSARY)))
    with ArticleStore(tmp_path / "a") as store:
        assert store.get("LATE FEE").title == "Dunning fee"


def test_several_documents_of_one_entity(tmp_path):
    documents = [Document(f"Part {n}.", "Manual", metadata={"part": n}) for n in range(3)]
    build_articles(tmp_path / "a", OwnDocuments(documents), duplicates="join")
    with ArticleStore(tmp_path / "a") as store:
        assert store.get("manual").text == "Part 0.\n\nPart 1.\n\nPart 2."


def test_names():
    assert OwnDocuments(GLOSSARY).name == OwnDocuments(tuple(GLOSSARY)).name
    assert OwnDocuments(GLOSSARY).name != OwnDocuments(GLOSSARY[:2]).name
    assert OwnDocuments(iter(GLOSSARY)).name == ""


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (Document("x", id="7"), r"document 1 \(id '7'\) has no title"),
        (Document("x", metadata={"title": 3}), "has no title.*got 3"),
        (Document("x", "A", metadata={"aliases": [1]}), "the aliases of 'A' must be a list of strings"),
        (Document("x", "A", metadata={"aliases": 1}), "the aliases of 'A' must be a list of strings"),
        ("x", "document 1 is no factoid.Document, got str"),
    ],
)
def test_documents_that_cannot_be_used(document, said):
    with pytest.raises(InvalidInputError, match=said):
        list(OwnDocuments(iter([document])).read())


def test_aliases_that_are_nothing_are_ignored():
    document = Document("x", "A", metadata={"aliases": [None, "", " ", "B"]})
    assert next(OwnDocuments([document]).read()).aliases == ("B",)


def test_lines_and_documents_have_the_same_aliases(tmp_path):
    for aliases in ("AL", ["AL", None, ""], None):
        metadata = {"aliases": aliases}
        document = next(OwnDocuments([Document("x", "A", metadata=metadata)]).read())
        lines = [{"title": "A", "text": "x", "metadata": metadata}, {"title": "A", "text": "x", "aliases": aliases}]
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert [record.aliases for record in ArticleJsonl(tmp_path / "a.jsonl").read()] == [document.aliases] * 2
