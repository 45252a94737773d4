"""Loaders give documents no ids: when a file has changed, adding it again leaves nothing stale."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.conftest import HashEmbeddings


@pytest.fixture
def store(embedding: HashEmbeddings) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(embedding) as opened:
        yield opened


def load(folder: Path) -> list[Document]:
    """Do as `DirectoryLoader` does."""
    files = sorted(folder.glob("*.md"))
    return [Document(path.read_text(), metadata={"source": str(path)}) for path in files]


def pages(*texts: str, first: int = 0, source: str = "manual.pdf") -> list[Document]:
    """Do as `PyPDFLoader` does."""
    return [
        Document(
            text, metadata={"source": source, "page": page, "moddate": f"2026-01-{len(texts):02}"}
        )
        for page, text in enumerate(texts, start=first)
    ]


def texts(store: MultiGranularFAISS) -> list[str]:
    found = store.similarity_search("fee dollars page", k=99, parents="document")
    return sorted(document.page_content for document in found)


def removed(store: MultiGranularFAISS) -> int:
    assert store.last_report is not None
    return store.last_report.removed


@pytest.mark.parametrize("reopened", [False, True])
async def test_after_an_edit_the_earlier_text_is_gone(
    embedding: HashEmbeddings, tmp_path: Path, reopened: bool
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "fees.md").write_text("The fee is 10 dollars.")
    (notes / "place.md").write_text("The office is in Oslo.")
    store = MultiGranularFAISS(embedding, path=tmp_path / "facts")
    store.add_documents(load(notes))
    (notes / "fees.md").write_text("The fee is 20 dollars.")
    if reopened:
        store.close()
        store = MultiGranularFAISS(embedding, path=tmp_path / "facts")
    await store.aadd_documents(load(notes))
    assert texts(store) == ["The fee is 20 dollars.", "The office is in Oslo."]
    assert store.last_report is not None
    assert (store.last_report.documents, store.last_report.unchanged, removed(store)) == (1, 1, 1)
    facts = MultiGranularRetriever(store=store, k=9, parents="unit").invoke("What is the fee?")
    assert not any("10 dollars" in fact.page_content for fact in facts)
    store.add_documents(load(notes))
    assert removed(store) == 0
    store.close()


def test_a_source_of_several_pages_is_replaced_as_a_whole(
    embedding: HashEmbeddings, tmp_path: Path
) -> None:
    for edition in (
        ["Page one: a fee.", "Page two.", "Page three."],
        ["Page one: no fee.", "Page two."],
    ):
        with MultiGranularFAISS(embedding, path=tmp_path / "facts") as store:
            store.add_documents([*pages(*edition), *pages("Page of another.", source="other.pdf")])
            assert texts(store) == sorted([*edition, "Page of another."])
    assert removed(store) == 3  # their dates differ: none is the same document


def test_pages_of_one_source_may_come_in_several_calls_while_the_store_is_open(
    store: MultiGranularFAISS, caplog: pytest.LogCaptureFixture
) -> None:
    for page in range(3):
        store.add_documents(pages(f"Page {page}.", first=page))
    assert texts(store) == ["Page 0.", "Page 1.", "Page 2."]
    assert not caplog.records


def test_chunks_that_replace_each_other_are_noticed(
    store: MultiGranularFAISS, caplog: pytest.LogCaptureFixture
) -> None:
    for chunk in ("The fee is 10 dollars.", "Pages cost a dollar."):
        store.add_texts([chunk], [{"source": "fees.md"}])
    assert texts(store) == ["Pages cost a dollar."]
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "'fees.md'" in record.getMessage()
    assert "source_key=None" in record.getMessage()


@pytest.mark.parametrize(
    "source", ["news", "tweet", "Wikipedia", "chat 1.2", 7, ["a.md"], None, ""]
)
def test_a_word_that_many_documents_share_is_no_source(
    store: MultiGranularFAISS, source: object
) -> None:
    store.add_texts(["Page one."], [{"source": source}])
    store.add_texts(["Page two."], [{"source": source}])
    assert texts(store) == ["Page one.", "Page two."]


@pytest.mark.parametrize(
    "source", ["a.md", "notes/a", "C:\\notes\\a", "https://example.com/fees", "example.com"]
)
@pytest.mark.parametrize("key", ["source", "file_path"])
def test_a_file_or_an_address_is_one(store: MultiGranularFAISS, source: str, key: str) -> None:
    store.add_texts(["Page one."], [{key: source}])
    store.add_texts(["Page two."], [{key: source}])
    assert texts(store) == ["Page two."]


def test_documents_with_ids_are_left_alone_and_replace_nothing_else(
    store: MultiGranularFAISS,
) -> None:
    store.add_texts(["Page one.", "Page two."], [{"source": "a.md"}] * 2, ids=["1", "2"])
    store.add_texts(["Page three."], [{"source": "a.md"}])
    store.add_texts(["Page four."], [{"source": "a.md"}], ids=["4"])
    store.add_documents([Document("Page five.", id="5", metadata={"source": "a.md"})])
    assert len(texts(store)) == 5
    assert removed(store) == 0


def test_the_key_is_an_option(embedding: HashEmbeddings, caplog: pytest.LogCaptureFixture) -> None:
    with MultiGranularFAISS(embedding, source_key="url") as store:
        store.add_texts(["Page one.", "Page two."], [{"url": "fees", "source": "a.md"}] * 2)
        store.add_texts(["Page three."], [{"url": "fees", "source": "b.md"}])
        assert texts(store) == ["Page three."]
        assert not caplog.records  # it was asked for
    with MultiGranularFAISS(embedding, source_key=None) as store:
        for text in ("Page one.", "Page two."):
            store.add_texts([text], [{"source": "a.md"}])
        assert len(texts(store)) == 2
    with (
        MultiGranularFAISS(embedding, source_key=7) as store,  # type: ignore[arg-type]
        pytest.raises(InvalidInputError, match="source_key must be a key"),
    ):
        store.add_texts(["Page one."])


@pytest.mark.parametrize(
    "key", ["tenant", "tenant_id", "user", "userId", "Owner", "org", "team", "project", "acl"]
)
def test_a_file_of_two_owners_is_two_sources(
    tmp_path: Path, embedding: HashEmbeddings, key: str
) -> None:
    """Each call is of a process of its own, which knows nothing of the other."""
    for owner, fee in (("acme", 10), ("bolt", 20), ("acme", 30)):
        with MultiGranularFAISS(embedding, path=tmp_path / "store") as store:
            store.add_texts([f"The fee of {owner} is {fee}."], [{"source": "fees.md", key: owner}])
    with MultiGranularFAISS(embedding, path=tmp_path / "store") as store:
        assert texts(store) == ["The fee of acme is 30.", "The fee of bolt is 20."]


def test_further_keys_keep_sources_apart(embedding: HashEmbeddings) -> None:
    with MultiGranularFAISS(embedding, source_key=("url", "site")) as store:
        store.add_texts(
            ["Page one.", "Page two."], [{"url": "fees", "site": site} for site in ("a", "b")]
        )
        store.add_texts(["Page three."], [{"url": "fees", "site": "b", "tenant": "other"}])
        assert texts(store) == ["Page one.", "Page three."]


def test_langchains_index_goes_by_its_records(store: MultiGranularFAISS) -> None:
    records = InMemoryRecordManager(namespace="facts")
    options = {
        "cleanup": "incremental",
        "source_id_key": "source",
        "key_encoder": "sha256",
        "batch_size": 2,
    }
    many = pages(*[f"Page {number}." for number in range(5)])
    assert index(many, records, store, **options)["num_added"] == 5  # type: ignore[arg-type]
    assert len(texts(store)) == 5
    assert index(many[:1], records, store, **options)["num_deleted"] == 4  # type: ignore[arg-type]
