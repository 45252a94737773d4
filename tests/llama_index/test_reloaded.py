"""An index that is opened again and filled further, by whoever does not think of the node
parser.
"""

from __future__ import annotations

import pytest
from llama_index.core import Settings, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document

from llama_index_factoid import (
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
)

CAT = Document(text="The office cat is called Maurice.", id_="cat")
QUESTION = "What is the office cat called?"


@pytest.fixture(autouse=True)
def _splitter(monkeypatch):
    """The framework's own default; another test may have set another."""
    monkeypatch.setattr(Settings, "_node_parser", SentenceSplitter())
    monkeypatch.setattr(Settings, "_transformations", None)


def documents(**changed):
    texts = {
        "pisa": "The tower of Pisa leans. It is of marble.",
        "paris": "The tower of Paris is of iron.",
    }
    return [Document(text=text, id_=name) for name, text in {**texts, **changed}.items()]


def filled(store, embed_model):
    return VectorStoreIndex.from_documents(
        documents(),
        storage_context=StorageContext.from_defaults(vector_store=store),
        transformations=[MultiGranularNodeParser()],
        embed_model=embed_model,
    )


def names(results):
    return [result.node.ref_doc_id for result in results]


@pytest.mark.parametrize("granularity", [None, "passage", "sentence", "proposition", "mixed"])
def test_what_is_inserted_after_a_reload_is_found(tmp_path, embed_model, granularity):
    with_facts = MultiGranularFaissVectorStore(tmp_path / "facts")
    filled(with_facts, embed_model)
    with_facts.close()
    store = MultiGranularFaissVectorStore(tmp_path / "facts", granularity=granularity)
    index = VectorStoreIndex.from_vector_store(store, embed_model=embed_model)
    index.insert(CAT)
    for retriever in (
        index.as_retriever(similarity_top_k=3),
        MultiGranularRetriever(index, k=3),
        index.as_retriever(similarity_top_k=3, vector_store_query_mode="mmr"),
    ):
        found = retriever.retrieve(QUESTION)
        assert names(found)[0] == "cat"
        assert len(found) == 3
    store.close()


def test_a_refreshed_document_is_found_on_the_persist_path(tmp_path, embed_model):
    folder = str(tmp_path / "index")
    filled(MultiGranularFaissVectorStore(), embed_model).storage_context.persist(folder)
    store = MultiGranularFaissVectorStore.from_persist_dir(folder)
    context = StorageContext.from_defaults(persist_dir=folder, vector_store=store)
    index = load_index_from_storage(context, embed_model=embed_model)
    changed = documents(pisa="The tower of Pisa was made straight.")
    assert index.refresh_ref_docs(changed) == [True, False]
    found = index.as_retriever(similarity_top_k=2).retrieve("Was the tower of Pisa made straight?")
    assert [result.node.text for result in found] == [document.text for document in changed]
