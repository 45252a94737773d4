"""A source that has changed is added again: nothing of its earlier version stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core import SimpleDirectoryReader, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document

from llama_index_factoid import (
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
)

LONG = " ".join(
    f"Gauge {number} stood at mill {number} until the year {1800 + number}." for number in range(60)
)


@pytest.fixture
def store():
    return MultiGranularFaissVectorStore()


def add(store, embed_model, documents, **options):
    return VectorStoreIndex.from_documents(
        documents,
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=embed_model,
        **{"transformations": [MultiGranularNodeParser()]} | options,
    )


def texts(store):
    return sorted(
        {
            node.get_content()
            for node in store.get_nodes()
            if node.metadata["granularity"] == "passage"
        }
    )


@pytest.mark.parametrize("transformations", [[MultiGranularNodeParser()], [SentenceSplitter()]])
def test_a_document_of_the_same_id_leaves_nothing_stale(store, embed_model, transformations):
    place = Document(text="The office is in Oslo.", id_="place")
    for amount in (10, 20):
        fee = Document(text=f"The fee is {amount} dollars.", id_="fee")
        add(store, embed_model, [fee, place], transformations=transformations)
    found = MultiGranularRetriever(store, embed_model, k=9, parents="unit").retrieve(
        "What is the fee?"
    )
    assert {result.node.get_content() for result in found} == {
        "The fee is 20 dollars.",
        "The office is in Oslo.",
    }


@pytest.mark.parametrize("batch", [1, 7, 2048])
def test_nothing_of_the_new_version_is_lost_in_whatever_batches_it_comes(store, embed_model, batch):
    add(store, embed_model, [Document(text=LONG, id_="long")])
    changed = LONG.replace("1805", "1905")
    add(store, embed_model, [Document(text=changed, id_="long")], insert_batch_size=batch)
    expected = MultiGranularNodeParser()([Document(text=changed, id_="long")])
    assert sorted(node.node_id for node in store.get_nodes()) == sorted(
        node.node_id for node in expected
    )


def test_two_parsers_may_cut_one_document(store, embed_model):
    document = Document(text=LONG, id_="long")
    add(store, embed_model, [document])
    count = len(store.get_nodes())
    add(
        store,
        embed_model,
        [document],
        transformations=[SentenceSplitter(chunk_size=64, chunk_overlap=0)],
    )
    assert len(store.get_nodes()) > count


@pytest.mark.parametrize(
    ("named", "text"), [(True, "The fee is 20 dollars."), (False, "The fee is 120 dollars.")]
)
def test_a_file_that_is_read_again(store, embed_model, tmp_path, named, text):
    """`filename_as_id` also notices an edit of the same day that leaves the size as it is."""
    for content in ("The fee is 10 dollars.", text):
        (tmp_path / "fee.txt").write_text(content)
        (tmp_path / "place.txt").write_text("The office is in Oslo.")
        add(store, embed_model, SimpleDirectoryReader(tmp_path, filename_as_id=named).load_data())
    assert texts(store) == [text, "The office is in Oslo."]


@pytest.mark.parametrize("batch", [1, 2048])
def test_an_unchanged_file_that_is_read_again_is_stored_once(store, embed_model, tmp_path, batch):
    (tmp_path / "fee.txt").write_text("The fee is 10 dollars. It is due in May.")
    (tmp_path / "place.txt").write_text("The office is in Oslo.")
    for _ in range(3):
        documents = SimpleDirectoryReader(tmp_path).load_data()  # with new ids each time
        documents[0].metadata["last_accessed_date"] = documents[0].doc_id  # as on another day
        add(store, embed_model, documents, insert_batch_size=batch)
    found = MultiGranularRetriever(store, embed_model, k=9).retrieve("What is the fee?")
    assert [result.node.get_content() for result in found] == [
        "The fee is 10 dollars. It is due in May.",
        "The office is in Oslo.",
    ]


@pytest.mark.parametrize("batch", [1, 2048])
def test_equal_pages_of_a_file_stay(store, embed_model, batch):
    texts_of_pages = ["This page is left blank.", "The fee.", "This page is left blank."]
    for _ in range(2):
        add(store, embed_model, pages(300, *texts_of_pages), insert_batch_size=batch)
    assert len(MultiGranularRetriever(store, embed_model, k=9).retrieve("page")) == 3


def pages(size, *contents):
    """Do as `SimpleDirectoryReader` does with a PDF."""
    return [
        Document(
            text=text,
            metadata={"page_label": str(page), "file_path": "manual.pdf", "file_size": size},
        )
        for page, text in enumerate(contents, start=1)
    ]


def test_a_file_of_several_pages_is_replaced_as_a_whole(store, embed_model):
    add(store, embed_model, pages(300, "Page one: a fee.", "Page two.", "Page three."))
    other = Document(text="Page of another.", metadata={"file_path": "other.pdf", "file_size": 300})
    add(store, embed_model, [other])
    assert len(texts(store)) == 4
    add(store, embed_model, pages(200, "Page one: no fee.", "Page two."), insert_batch_size=1)
    assert texts(store) == ["Page of another.", "Page one: no fee.", "Page two."]


def test_a_file_without_a_version_says_nothing(store, embed_model):
    for name in ("one", "two"):
        add(
            store,
            embed_model,
            [Document(text=f"Page {name}.", metadata={"file_path": str(Path("a.md"))})],
        )
    assert texts(store) == ["Page one.", "Page two."]
