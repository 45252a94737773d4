"""Documents of your own: where titles and aliases are, and files of them."""

from __future__ import annotations

import pytest

from factoid import Document
from factoid.entities import Article, build_own_articles
from factoid.entities.articles.own_documents import OwnDocuments
from factoid.errors import InvalidInputError
from factoid.files.readers import read_documents

FEE = {"aliases": ["late fee", "DF", None, " "], "page": 3}


@pytest.mark.parametrize(
    ("document", "article"),
    [
        (
            Document("A fee.", "Fee", id="1", metadata=FEE),
            Article("Fee", "A fee.", ("late fee", "DF"), (), FEE, "1"),
        ),
        (
            Document("Owes.", id="2", metadata={"title": "Debtor", "aliases": None}),
            Article("Debtor", "Owes.", (), (), {"title": "Debtor", "aliases": None}, "2"),
        ),
        (
            Document(
                "Money.", "Debt", id="3", metadata={"aliases": "debts; dues|d", "title": "other"}
            ),
            Article(
                "Debt",
                "Money.",
                ("debts", "dues", "d"),
                (),
                {"aliases": "debts; dues|d", "title": "other"},
                "3",
            ),
        ),
    ],
)
def test_titles_aliases_and_metadata(document, article):
    assert list(OwnDocuments([document])) == [article]


def test_other_keys():
    document = Document("x", "A", metadata={"name": "B", "also": ("C", "D")})
    (article,) = OwnDocuments([document], title_key="name", aliases_key="also")
    assert (article.title, article.aliases) == ("B", ("C", "D"))


@pytest.mark.parametrize(
    ("document", "options", "said"),
    [
        (Document("x", id="7"), {}, r"document 1 \(id '7'\) has no title"),
        (Document("x", metadata={"title": ["A"]}), {}, r"has no title.*got \['A'\]"),
        (Document("x", "A"), {"title_key": "term"}, r"expected metadata\['term'\], got ''"),
        (
            Document("x", "A", metadata={"aliases": {"b": 1}}),
            {},
            "the aliases of 'A' must be a list of strings",
        ),
        ("x", {}, "document 1 is not a factoid.Document, got str"),
    ],
)
def test_documents_that_cannot_be_used(document, options, said):
    with pytest.raises(InvalidInputError, match=said):
        build_own_articles([document], **options)


def test_a_table_and_lines_give_the_same_articles(tmp_path):
    table, lines = tmp_path / "a.csv", tmp_path / "a.jsonl"
    table.write_text(
        'id,part,text,aliases\n1,4711,"Pumps, slowly.",4712\n2,T40,Seals.,T-40; the Tern\n'
    )
    lines.write_text(
        '{"id": 1, "part": 4711, "text": "Pumps, slowly.", "aliases": ["4712"]}\n'
        '{"id": 2, "part": "T40", "text": "Seals.", "aliases": ["T-40", "the Tern"]}\n'
    )
    for file in (table, lines):
        articles = list(OwnDocuments(read_documents([file]), title_key="part"))
        assert [(article.title, article.aliases, article.document_id) for article in articles] == [
            ("4711", ("4712",), "1"),
            ("T40", ("T-40", "the Tern"), "2"),
        ]
