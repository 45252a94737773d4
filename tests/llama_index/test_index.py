"""The parts inside LlamaIndex: index, query engine, ingestion pipeline, storage context."""

from __future__ import annotations

import fsspec
import pytest
from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import Document
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from factoid.errors import StoreFormatError
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularRetriever
from tests.llama_index.nodes import TEXTS, where


def documents(**changed):
    return [Document(text=text, id_=name) for name, text in {**TEXTS, **changed}.items()]


@pytest.fixture
def store():
    return MultiGranularFaissVectorStore()


def build(store, embed_model, parser, **options):
    return VectorStoreIndex.from_documents(
        documents(),
        storage_context=StorageContext.from_defaults(vector_store=store),
        transformations=[parser],
        embed_model=embed_model,
        **options,
    )


def sources(results):
    return [result.node.ref_doc_id for result in results]


@pytest.mark.parametrize("options", [{}, {"store_nodes_override": True}, {"use_async": True}])
async def test_index_from_documents(store, embed_model, parser, options):
    index = build(store, embed_model, parser, **options)
    assert len(store.get_nodes()) == 3 * (1 + 2 + 2)
    found = index.as_retriever(similarity_top_k=2).retrieve("Which tower leans?")
    assert sources(found) == ["pisa", "paris"]
    assert found[0].node.text == TEXTS["pisa"]
    assert found[0].score > found[1].score > 0


def test_as_retriever_takes_granularity_filters_and_modes(store, embed_model, parser):
    index = build(store, embed_model, parser)
    units = index.as_retriever(
        similarity_top_k=9, vector_store_kwargs={"granularity": "sentence", "parents": "unit"}
    ).retrieve("tower")
    assert len(units) == 6
    only = MetadataFilters(filters=[MetadataFilter(key="ref_doc_id", value="cat")])
    assert sources(index.as_retriever(filters=only).retrieve("tower")) == ["cat"]
    assert sources(index.as_retriever(doc_ids=["cat"]).retrieve("tower")) == ["cat"]


def test_query_engine_answers_from_the_passages(store, embed_model, parser):
    index = build(store, embed_model, parser)
    engine = RetrieverQueryEngine.from_args(MultiGranularRetriever(index, k=1), llm=MockLLM())
    response = engine.query("Which tower leans?")
    assert TEXTS["pisa"] in str(response)
    assert "matches" not in str(response)
    assert (
        response.source_nodes[0].node.metadata["matches"][0]["text"] == "The tower of Pisa leans."
    )


def test_nodes_and_documents_change_through_the_index(store, embed_model, parser):
    index = build(store, embed_model, parser)
    [found] = index.as_retriever(similarity_top_k=1).retrieve("Eiffel")
    index.delete_nodes([found.node.node_id])
    index.update_ref_doc(Document(text="Pisa has an airport.", id_="pisa"))
    passages = store.get_nodes(filters=where("granularity", "passage"))
    assert {node.text for node in passages} == {TEXTS["cat"], "Pisa has an airport."}
    assert {node.ref_doc_id for node in store.get_nodes()} == {"pisa", "cat"}


@pytest.mark.parametrize("fs", [None, fsspec.filesystem("file")])
@pytest.mark.parametrize("own_path", [False, True])
def test_storage_context_persists_and_loads(tmp_path, embed_model, parser, own_path, fs):
    folder = f"{tmp_path}/kept"
    store = MultiGranularFaissVectorStore(tmp_path / "own" if own_path else None)
    built = build(store, embed_model, parser)
    built.storage_context.persist(folder, fs=fs)
    with pytest.raises(OSError, match="kept"):  # and not an empty index
        StorageContext.from_defaults(persist_dir=folder)
    persisted = MultiGranularFaissVectorStore.from_persist_dir(folder, granularity="sentence")
    context = StorageContext.from_defaults(persist_dir=folder, vector_store=persisted)
    index = load_index_from_storage(context, embed_model=embed_model)
    assert persisted.get_nodes() == store.get_nodes()
    assert sources(index.as_retriever(similarity_top_k=1).retrieve("Eiffel")) == ["paris"]
    index.insert(Document(text="The tower of London is old.", id_="london"))
    index.delete_ref_doc("paris")
    index.storage_context.persist(folder, fs=fs)
    again = MultiGranularFaissVectorStore.from_persist_dir(folder)
    assert {node.ref_doc_id for node in again.get_nodes()} == {"pisa", "cat", "london"}
    with pytest.raises(StoreFormatError, match="no store at"):
        MultiGranularFaissVectorStore.from_persist_dir(f"{tmp_path}/missing")


def test_upserts_leave_nothing_stale_and_redo_one_document_only(store, embed_model, parser, script):
    run = IngestionPipeline(
        transformations=[parser, embed_model],
        vector_store=store,
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS,
    )
    assert len(run.run(documents=documents())) == 15
    changed = "The tower of Paris is red. Painters painted it."
    script.calls.clear()
    run.run(documents=documents(paris=changed))
    assert [unit.text for call in script.calls for unit in call] == [changed]
    assert {node.text for node in store.get_nodes() if node.ref_doc_id == "paris"} == {
        changed,
        "The tower of Paris is red.",
        "Painters painted it.",
    }
    assert len(store.get_nodes()) == 15
    script.calls.clear()
    run.run(documents=documents(paris=changed))
    assert script.calls == []
