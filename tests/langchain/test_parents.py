"""What a search returns: documents, the passages in them, or units; and stores that others
wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from factoid import UnitStore
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from langchain_factoid import (
    LangChainEncoder,
    EncoderEmbeddings,
    MultiGranularFAISS,
    MultiGranularRetriever,
)
from tests.langchain.documents import GRANULARITIES, SENTENCES

EMBEDDINGS = EncoderEmbeddings(HashEncoder())
TEXT = "# Book\n\n" + "\n\n".join(
    f"## Part {n}\n\nChapter {n} tells of thing{n}. " + f"It is long{n}. " * 40 for n in range(4)
)
BOOK = Document(
    id="book", page_content=TEXT, metadata={"shelf": 1, "author": {"name": "Ann", "year": 1900}}
)
NOTE = Document(id="note", page_content="A note on thing2.", metadata={"author.name": "Bob"})


@pytest.fixture
def books() -> Any:
    with MultiGranularFAISS(
        EMBEDDINGS, propositionizer=SENTENCES, granularities=GRANULARITIES
    ) as store:
        store.add_documents([BOOK, NOTE])
        yield store


@pytest.mark.parametrize("granularity", [*GRANULARITIES, "mixed"])
def test_documents_passages_and_units(books: MultiGranularFAISS, granularity: str) -> None:
    options: dict[str, Any] = {"k": 1, "granularity": granularity, "document_ids": ["book"]}
    assert books.similarity_search("thing2", parents="document", **options) == [BOOK]
    [passage] = books.similarity_search("thing2", parents="passage", **options)
    assert books.similarity_search("thing2", **options) == books.as_retriever(
        search_kwargs=options
    ).invoke("thing2")
    assert books.similarity_search("thing2", **options) == [passage]
    start, end = passage.metadata["start_index"], passage.metadata["end_index"]
    assert passage.page_content == TEXT[start:end]
    assert "thing2" in passage.page_content
    expected = {
        "granularity": "passage",
        "parent_id": "book",
        "title": "Book",
        "section": "Part 2",
        "shelf": 1,
    }
    assert passage.metadata.items() >= expected.items()
    assert passage.metadata["passage_id"] == passage.id
    [unit] = books.similarity_search("thing2", parents="unit", **options)
    assert unit.metadata["parent_id"] == "book"
    assert unit.metadata["granularity"] in (
        GRANULARITIES if granularity == "mixed" else [granularity]
    )
    assert books.get_by_ids(["book", "none"]) == [BOOK]
    for parents, document in (
        ("auto", passage),
        ("document", BOOK),
        ("passage", passage),
        ("unit", unit),
    ):
        assert MultiGranularRetriever(store=books).invoke("thing2", parents=parents, **options) == [
            document
        ]


def test_a_store_that_is_given(tmp_path: Path) -> None:
    with UnitStore(
        encoder=LangChainEncoder(EMBEDDINGS, name="mine"), granularities=GRANULARITIES
    ) as core:
        store = MultiGranularFAISS(store=core, propositionizer=SENTENCES)
        assert store.embeddings is EMBEDDINGS
        store.add_documents([BOOK])
        assert (store.store, core.stats()["encoder"]) == (core, "mine")
        assert store.similarity_search("thing2", parents="document") == [BOOK]
        for arguments, options in (((EMBEDDINGS,), {}), ((), {"path": tmp_path})):
            with pytest.raises(InvalidInputError, match="neither embedding nor options"):
                MultiGranularFAISS(*arguments, store=core, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="has an encoder"):
        MultiGranularFAISS(store=UnitStore(encoder=None))
