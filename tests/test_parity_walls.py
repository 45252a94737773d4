"""What a filter excludes reaches nobody through either framework: documents, nodes, their metadata,
models and citations.
"""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import numpy as np
import pytest

from factoid.store import GRANULARITIES

pytest.importorskip("faiss")
pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.runnables import RunnableLambda
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)

import langchain_factoid
import llama_index_factoid
from factoid import PropCite
from factoid.store import UnitStore
from factoid.testing import HashEncoder
from tests.faults.injected import CAMPAIGN
from tests.store.walls import (
    CLAIM,
    COMMON,
    DIM,
    PASSAGE,
    PROPOSITIONIZER,
    Oracle,
    Recorder,
    agrame,
    allowed_words,
    asked,
    change,
    condition,
    documents,
    filled,
    mixed,
    roll,
    vector,
    words_of,
)

ENCODER = HashEncoder(DIM)


def dumped(results: Any) -> list[Any]:
    """Return documents or nodes as dicts, with their scores, relationships and metadata."""
    flat = []
    for result in results:
        content = result[0] if isinstance(result, tuple) else result
        flat.append(content.model_dump() if hasattr(content, "model_dump") else content)
    return flat


def question(dice: Any, oracle: Oracle, allowed: set[str]) -> str:
    """Return a question that names what is excluded."""
    forbidden = sorted(words_of(list(oracle.units.values())) - allowed)
    return " ".join([*dice.sample(COMMON, 2), *dice.sample(forbidden, min(len(forbidden), 2))])


def check_langchain(store: langchain_factoid.MultiGranularFAISS, chosen: Any, dice: Any) -> None:
    oracle = Oracle.of(store.store, chosen)
    allowed = allowed_words(oracle)
    query, embedding = question(dice, oracle, allowed), vector(dice).tolist()
    recorder = Recorder()
    options: dict[str, Any] = {"k": dice.choice([1, 4, 50]), "filter": chosen}
    options["parents"] = dice.choice([None, "document", "passage", "unit"])
    options["granularity"] = dice.choice([None, "passage", "sentence", "proposition", "mixed"])
    options["expand"] = dice.choice([0, 2])
    retrieving = options | {"search_type": dice.choice(["similarity", "mmr"])}
    reranking = options | {"granularity": "sentence", "rerank": recorder}
    retriever = langchain_factoid.MultiGranularRetriever(store=store, **retrieving)
    search = {key: value for key, value in options.items() if key != "k"}
    kind = dice.choice(["similarity", "mmr"])
    answers = [
        store.similarity_search(query, **options),
        store.similarity_search(query, lexical=dice.choice([0.3, 1]), **options),
        store.similarity_search_with_score(query, **options),
        store.similarity_search_by_vector(embedding, **options),
        store.max_marginal_relevance_search(query, **options),
        store.max_marginal_relevance_search_by_vector(embedding, **options),
        store.as_retriever(search_type=kind, search_kwargs=options).invoke(query),
        retriever.invoke(query),
        asyncio.run(retriever.ainvoke(query)),
        langchain_factoid.MultiGranularRetriever(store=store, k=3).invoke(query, **search),
        langchain_factoid.MultiGranularRetriever(store=store, **reranking).invoke(query),
        store.similarity_search(query, **reranking),
    ]
    for answer in answers:
        assert words_of(dumped(answer)) <= allowed, (chosen, options)
    assert words_of(recorder.given) <= allowed, (chosen, options)
    chain = retriever | RunnableLambda(lambda found: langchain_factoid.with_headings(found))
    assert words_of(dumped(chain.invoke(query))) <= allowed
    # What follows a retriever: a reranker, and an answer with citations.
    ranker, read = agrame()
    kind = dice.choice(["sentence", "proposition", "passage"])
    level = dice.choice(["unit", "passage"])
    reranker = langchain_factoid.AnyGranularityReranker(
        ranker=ranker, granularity=kind, parents=level
    )
    citer = PropCite(ranker.encoder, propositionizer=PROPOSITIONIZER)
    for found in answers[7:]:
        assert words_of(dumped(reranker.compress_documents(found, query))) <= allowed
        cited = langchain_factoid.PropCiteRunnable(citer=citer, documents=found).invoke(CLAIM)
        assert words_of(cited.model_dump()) <= allowed
    assert words_of(read) <= allowed


def langchain_campaign(seed: int, filters: int) -> int:
    dice = roll(seed)
    with filled(dice, encoder=ENCODER) as core:
        store = langchain_factoid.MultiGranularFAISS(store=core)
        for number in range(filters):
            if {unit.granularity for unit in core.get(list(core.vectors(core.ids())))} < {
                *core.granularities
            }:
                return number  # a granularity that is gone is an error of its own
            check_langchain(store, condition(dice), dice)
            if number % 3 == 2:
                change(dice, core)
    return filters


@pytest.mark.parametrize("seed", range(6))
def test_langchain(seed: int) -> None:
    langchain_campaign(seed, 6)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_langchain_in_many_filters(part: int) -> None:
    filters = max(CAMPAIGN, 1000) // 10
    assert asked(langchain_campaign, 1000 * (1 + part), filters, each=10) == filters


def nodes_of(dice: Any) -> list[TextNode]:
    """Return units as nodes as our parsers make them, with all that nodes say of each other, and
    tenants of their own.
    """
    nodes: dict[str, TextNode] = {}
    for document, units in documents(dice, dice.randrange(1, 5)):
        source = RelatedNodeInfo(node_id=document.id, metadata=dict(document.metadata))
        last: TextNode | None = None
        for unit in units:
            metadata = {
                **mixed(dice, dict(unit.metadata), dice.randrange(10**6, 10**7)),
                "granularity": str(unit.granularity),
            }
            relationships: dict[NodeRelationship, Any] = {NodeRelationship.SOURCE: source}
            if unit.granularity is not PASSAGE:
                metadata["passage_id"] = unit.parent_id
                parent = nodes.get(unit.parent_id)
                info = (
                    parent.as_related_node_info()
                    if parent
                    else RelatedNodeInfo(node_id=unit.parent_id)
                )
                relationships[NodeRelationship.PARENT] = info
            if dice.random() < 0.3:
                metadata |= {"window": document.text, "original_text": unit.text}
            node = TextNode(
                id_=unit.id, text=unit.text, metadata=metadata, relationships=relationships
            )
            node.start_char_idx, node.end_char_idx = unit.start, unit.end
            node.embedding = vector(dice).tolist()
            if last is not None:
                node.relationships[NodeRelationship.PREVIOUS] = last.as_related_node_info()
                last.relationships[NodeRelationship.NEXT] = node.as_related_node_info()
            last = nodes[unit.id] = node
    return list(nodes.values())


def filters_of(dice: Any) -> MetadataFilters:
    """Return random filters of LlamaIndex."""
    parts: list[Any] = []
    for _ in range(dice.randrange(1, 3)):
        key = dice.choice(["a", "tenant", "secret", "tags", "granularity", "absent"])
        operator = dice.choice(list(FilterOperator))
        value: Any = dice.choice([0, 1, "north", "south", "red", "sentence"])
        if operator.value in ("in", "nin", "any", "all"):
            value = dice.choice([["north", "red"], [0, 1], ["passage"]])
        if operator.value.startswith("text"):
            value = "o"
        parts.append(MetadataFilter(key=key, value=value, operator=operator))
    joined = MetadataFilters(filters=parts, condition=dice.choice(["and", "or", "not"]))
    return MetadataFilters(filters=[joined, parts[0]]) if dice.random() < 0.3 else joined


class Echo(MockLLM):
    """Answers with what it reads, however long."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=10_000_000)


class Quoting(Echo):
    """Answers with one claim, whatever it reads."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=CLAIM)


def check_llama_index(store: llama_index_factoid.MultiGranularFaissVectorStore, dice: Any) -> None:
    filters = filters_of(dice)
    oracle = Oracle.of(store.client, llama_index_factoid.convert.to_tree(filters))
    allowed = allowed_words(oracle)
    query, recorder = question(dice, oracle, allowed), Recorder()
    k, embedding = dice.choice([1, 4, 50]), vector(dice).tolist()
    options: dict[str, Any] = {
        "parents": dice.choice(["passage", "unit"]),
        "expand": dice.choice([0, 2]),
    }
    options["granularity"] = dice.choice([None, "passage", "sentence", "proposition", "mixed"])
    options["matches"] = dice.random() < 0.5
    reranking = options | {"rerank": recorder, "granularity": "sentence"}
    embed_model = llama_index_factoid.EncoderEmbedding(ENCODER)
    index = VectorStoreIndex.from_vector_store(store, embed_model=embed_model)
    ask = {"query_str": query, "similarity_top_k": k, "query_embedding": embedding}
    answers = [
        store.query(VectorStoreQuery(**ask, filters=filters, mode=mode), **options).nodes
        for mode in ("default", "hybrid", "text_search", "sparse", "mmr")
    ]
    tree = llama_index_factoid.convert.to_tree(filters)
    answers += [
        store.query(VectorStoreQuery(**ask), filter=tree, **options).nodes,
        store.query(VectorStoreQuery(**ask, filters=filters, mode="hybrid"), **reranking).nodes,
        asyncio.run(store.aquery(VectorStoreQuery(**ask, filters=filters), **options)).nodes,
        store.get_nodes(filters=filters),
        store.get_nodes([*oracle.units, "unknown"], filters=filters),
        asyncio.run(store.aget_nodes(filters=filters)),
    ]
    del options["matches"]
    retrievers = [
        llama_index_factoid.MultiGranularRetriever(index, k=k, filters=filters, **options),
        llama_index_factoid.MultiGranularRetriever(
            store, embed_model, k=k, filters=filters, expand=1
        ),
        index.as_retriever(similarity_top_k=k, filters=filters, vector_store_kwargs=options),
        index.as_retriever(filters=filters, vector_store_query_mode="hybrid", alpha=0.2),
    ]
    answers += [[found.node for found in retriever.retrieve(query)] for retriever in retrievers]
    # Query engines: the nodes, what the model reads and echoes, and citations.
    ranker, read = agrame()
    kind = dice.choice(["sentence", "proposition", "passage"])
    rerank = llama_index_factoid.AnyGranularityRerank(ranker=ranker, granularity=kind)
    citer = PropCite(ranker.encoder, propositionizer=PROPOSITIONIZER)
    for retriever, processors in product(retrievers[:3], ([], [rerank])):
        engine = RetrieverQueryEngine.from_args(
            retriever, llm=Echo(), node_postprocessors=processors
        )
        response = engine.query(CLAIM)
        assert words_of(str(response)) <= allowed, (filters, options)
        quoting = RetrieverQueryEngine.from_args(
            retriever, llm=Quoting(), node_postprocessors=processors
        )
        cited = llama_index_factoid.PropCiteQueryEngine(quoting, citer).query(CLAIM)
        assert words_of([str(cited), cited.metadata]) <= allowed, (filters, options)
        answers += [
            [found.node for found in asked_of.source_nodes] for asked_of in (response, cited)
        ]
    assert words_of(read) <= allowed, (filters, options)
    for answer in answers:
        assert words_of(dumped(answer)) <= allowed, (filters, options)
    assert words_of(recorder.given) <= allowed, (filters, options)
    assert {node.node_id for node in answers[8]} == {
        unit.id for unit in oracle.units.values() if oracle.is_open(unit)
    }


def llama_index_campaign(seed: int, filters: int) -> int:
    dice = roll(seed)
    store = llama_index_factoid.MultiGranularFaissVectorStore()
    nodes = nodes_of(dice)
    store.add(nodes)
    for number in range(filters):
        core: UnitStore = store.client
        if {unit.granularity for unit in core.get(core.ids())} < {*core.granularities}:
            return number
        check_llama_index(store, dice)
        if number % 3 == 2:
            node = dice.choice(nodes)
            node.metadata["tenant"] = dice.choice(["north", "south"])
            store.add([node])
    store.close()
    return filters


@pytest.mark.parametrize("seed", range(6))
def test_llama_index(seed: int) -> None:
    llama_index_campaign(seed, 6)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_llama_index_in_many_filters(part: int) -> None:
    filters = max(CAMPAIGN, 1000) // 10
    assert asked(llama_index_campaign, 1000 * (1 + part), filters, each=10) == filters


SECRET, PLAIN = "The code of the vault is 4711.", "The vault is in the cellar."


def test_a_tenant_asks_for_chunks_and_facts_of_another() -> None:
    """Two chunks of one source have different tenants, and so have the sentences of a document."""
    store = langchain_factoid.MultiGranularFAISS(
        langchain_factoid.EncoderEmbeddings(ENCODER), granularities=GRANULARITIES
    )
    tenants = {SECRET: "north", PLAIN: "south"}
    chunks = [
        LangChainDocument(
            page_content=text, id=tenant, metadata={"source": "vault.txt", "tenant": tenant}
        )
        for text, tenant in tenants.items()
    ]
    both = LangChainDocument(
        page_content=f"{PLAIN} {SECRET}", id="both", metadata={"tenant": "south"}
    )
    store.add_documents([*chunks, both])
    units = [unit for unit in store.store.get(store.store.ids()) if unit.document_id == "both"]
    secret = [unit.id for unit in units if "4711" in unit.text and unit.granularity is not PASSAGE]
    assert (
        store.store.update_metadata({"tenant": "north"}, unit_ids=secret) == 2
    )  # a sentence, and a proposition
    for parents, ids in (("document", {"south"}), ("passage", None), ("unit", None)):
        options = {"filter": {"tenant": "south"}, "k": 9, "parents": parents, "expand": 2}
        found = store.as_retriever(search_kwargs=options).invoke("What is the code of the vault?")
        assert "4711" not in str(dumped(found))
        assert (
            ids is None
            or {document.id for document in found if "granularity" not in document.metadata} == ids
        )
        assert [document.page_content for document in found] == [PLAIN, PLAIN]


@pytest.mark.parametrize(
    "condition",
    [
        {"granularity": "sentence"},
        {"granularity": {"$ne": "passage"}},
        {"passage_id": "P"},
        lambda metadata: metadata["granularity"] == "sentence",
    ],
)
@pytest.mark.parametrize("granularity", [None, "sentence", "mixed", "passage"])
def test_a_passage_that_only_its_kind_excludes_is_no_parent(
    condition: Any, granularity: str | None
) -> None:
    """Also where its metadata are otherwise those of its sentences."""
    passage = TextNode(
        id_="P", text=f"{PLAIN} {SECRET}", metadata={"granularity": "passage"}, embedding=[1.0, 0.0]
    )
    metadata = {"granularity": "sentence", "passage_id": "P"}
    sentence = TextNode(id_="S", text=PLAIN, metadata=metadata, embedding=[1.0, 1.0])
    sentence.relationships[NodeRelationship.PARENT] = passage.as_related_node_info()
    for node in (passage, sentence):
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="vault.txt")
    store = llama_index_factoid.MultiGranularFaissVectorStore()
    store.add([passage, sentence])
    query = VectorStoreQuery(
        query_embedding=[1.0, 0.0], query_str="code vault 4711", similarity_top_k=9
    )
    for parents, rerank, mode in product(
        ("passage", "unit"), (None, Recorder()), ("default", "hybrid")
    ):
        query.mode = mode
        options = {"granularity": granularity, "parents": parents, "expand": 1, "filter": condition}
        if rerank is not None:
            options |= {"rerank": rerank, "granularity": "sentence"}
        found = store.query(query, **options).nodes or ()
        assert "4711" not in str(dumped(found))
        assert rerank is None or "4711" not in str(rerank.given)
        assert [node.node_id for node in found] == (
            [] if options["granularity"] == "passage" else ["S"]
        )


@pytest.mark.parametrize(
    "condition", [{"tenant": "south"}, lambda metadata: metadata["tenant"] == "south", None]
)
def test_filters_of_both_kinds_hold_together(condition: Any) -> None:
    """A filter of the store's and filters of the query: neither makes the other one void."""
    store = llama_index_factoid.MultiGranularFaissVectorStore()
    nodes = [
        TextNode(
            id_=f"{tenant} {year}",
            text="A text.",
            metadata={"tenant": tenant, "year": year},
            embedding=[1.0, 0.0],
        )
        for tenant in ("north", "south")
        for year in (1, 2)
    ]
    store.add(nodes)
    for filters, years in (
        ([MetadataFilter(key="year", value=1)], [1]),
        ([], [1, 2]),
        (None, [1, 2]),
    ):
        given = None if filters is None else MetadataFilters(filters=filters)
        query = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9, filters=given)
        found = store.query(query, filter=condition).nodes or ()
        tenants = ("north", "south") if condition is None else ("south",)
        assert {node.node_id for node in found} == {
            f"{tenant} {year}" for tenant in tenants for year in years
        }


def test_numbers_of_hits_do_not_tell_of_others() -> None:
    """k results come back if k pass, whatever else there is."""
    store = llama_index_factoid.MultiGranularFaissVectorStore()
    nodes = []
    for number in range(40):
        node = TextNode(
            id_=f"n{number}",
            text=f"Text {number}.",
            metadata={"tenant": "north" if number % 4 else "south"},
        )
        node.embedding = np.random.default_rng(number).normal(size=DIM).tolist()
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="one source")
        nodes.append(node)
    store.add(nodes)
    south = MetadataFilters(filters=[MetadataFilter(key="tenant", value="south")])
    for k in (1, 5, 10, 99):
        result = store.query(
            VectorStoreQuery(query_embedding=[1.0] * DIM, similarity_top_k=k, filters=south),
            expand=3,
            matches=True,
        )
        assert len(result.nodes or ()) == min(k, 10)
        assert "north" not in str(dumped(result.nodes))
