"""The obvious call of each framework: a passage with its place, found by meaning and by words.

`parents="auto"` is one rule: a document that is one passage comes back as it was added, of a longer
one its passage.
"""

from __future__ import annotations

from typing import Any

import pytest

from factoid.store import GRANULARITIES

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.vector_stores import VectorStoreQuery

from factoid import AnyGranularityRanker, Document, UnitStore
from factoid.errors import InvalidInputError
from factoid.store import SearchOptions
from factoid.testing import HashEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS, MultiGranularRetriever
from llama_index_factoid import EncoderEmbedding, MultiGranularFaissVectorStore
from llama_index_factoid import MultiGranularRetriever as LlamaIndexRetriever
from tests.late_interaction.word_vectors import WordVectors

PARTS = {"seal": "zinc", "valve": "brass", "shaft": "iron", "screw": "gold", "plate": "tin"}
MANUAL = Document(
    "# Tern 40\n\n"
    + "\n\n".join(
        f"## Part {n}\n\nThe pump has a {part} of {metal}. "
        + f"Filler{n} stands in for much text. " * 20
        for n, (part, metal) in enumerate(PARTS.items())
    ),
    id="manual",
    metadata={"shelf": 1},
)
NOTE = Document(
    "---\nauthor: Ann\n---\n\n# A note\n\nThe cat is called Maurice.\n",
    id="note",
    metadata={"shelf": 2},
)
QUESTIONS = {"Is a screw of gold?": "manual", "What is the cat called?": "note"}
MODEL = EncoderEmbedding(HashEncoder())


@pytest.fixture
def core(tmp_path):
    with UnitStore(tmp_path / "store", encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents([MANUAL, NOTE])
        yield store


@pytest.fixture
def langchain(core):
    return MultiGranularFAISS(store=core)


@pytest.fixture
def llama(core):
    """The same store, opened by LlamaIndex."""
    store = MultiGranularFaissVectorStore(core.path, embed_model=MODEL, read_only=True)
    yield store
    store.close()


def langchain_ways(store: MultiGranularFAISS, question: str) -> dict[str, list[LangChainDocument]]:
    embedding = store.embeddings.embed_query(question)
    return {
        "as_retriever": store.as_retriever(search_kwargs={"k": 1}).invoke(question),
        "similarity_search": store.similarity_search(question, k=1),
        "by_vector": store.similarity_search_by_vector(embedding, k=1),
        "with_score": [
            document for document, _ in store.similarity_search_with_score(question, k=1)
        ],
        "relevance": [
            document for document, _ in store.similarity_search_with_relevance_scores(question, k=1)
        ],
        "mmr": store.max_marginal_relevance_search(question, k=1),
        "mmr retriever": store.as_retriever(search_type="mmr", search_kwargs={"k": 1}).invoke(
            question
        ),
        "retriever": MultiGranularRetriever(store=store, k=1).invoke(question),
        "rerank": store.similarity_search(
            question, k=1, rerank=AnyGranularityRanker(WordVectors())
        ),
    }


def llama_ways(store: MultiGranularFaissVectorStore, question: str) -> dict[str, Any]:
    index = VectorStoreIndex.from_vector_store(store, embed_model=MODEL)
    query = VectorStoreQuery(MODEL.get_query_embedding(question), 1, query_str=question)
    options = {"similarity_top_k": 1}
    return {
        "as_retriever": [found.node for found in index.as_retriever(**options).retrieve(question)],
        "hybrid": [
            found.node
            for found in index.as_retriever(vector_store_query_mode="hybrid", **options).retrieve(
                question
            )
        ],
        "mmr": [
            found.node
            for found in index.as_retriever(vector_store_query_mode="mmr", **options).retrieve(
                question
            )
        ],
        "retriever": [found.node for found in LlamaIndexRetriever(index, k=1).retrieve(question)],
        "query": store.query(query).nodes,
    }


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_short_document_comes_back_as_it_was_added_and_of_a_long_one_its_passage(
    langchain, llama, question
):
    for way, found in langchain_ways(langchain, question).items():
        [document] = found
        if QUESTIONS[question] == "note":
            assert (document.id, document.page_content) == ("note", NOTE.text), way
            assert document.metadata["shelf"] == 2
            assert "start_index" not in document.metadata
        else:
            place = document.metadata
            assert (
                document.page_content == MANUAL.text[place["start_index"] : place["end_index"]]
            ), way
            assert (place["parent_id"], place["section"], place["shelf"]) == ("manual", "Part 3", 1)
            assert document.id == place["passage_id"] != "manual"
    for way, nodes in llama_ways(llama, question).items():
        [node] = nodes
        if QUESTIONS[question] == "note":
            assert (node.node_id, node.text) == ("note", NOTE.text), way
        else:
            assert node.text == MANUAL.text[node.start_char_idx : node.end_char_idx], way
            assert (node.ref_doc_id, node.metadata["section"]) == ("manual", "Part 3")


def test_score_and_matches_come_along_in_both_frameworks(langchain, llama):
    for question, name in QUESTIONS.items():
        [document] = MultiGranularRetriever(store=langchain, k=1).invoke(question)
        [found] = LlamaIndexRetriever(llama, k=1).retrieve(question)
        match = document.metadata["matches"][0]
        text = MANUAL.text if name == "manual" else NOTE.text
        assert text[match["start_index"] : match["end_index"]] in document.page_content
        assert (found.node.metadata["matches"][0]["text"], found.score) == (
            match["text"],
            document.metadata["score"],
        )
        [neighbour, *_] = (
            MultiGranularRetriever(store=langchain, k=1, expand=1)
            .invoke(question)[0]
            .metadata["neighbours"]
        )
        assert neighbour["text"] in text


def test_what_came_back_is_found_by_its_id(langchain, llama):
    for question in QUESTIONS:
        [document] = langchain.similarity_search(question, k=1)
        assert langchain.get_by_ids([document.id, "absent"]) == [document]
        [node] = llama.query(VectorStoreQuery(MODEL.get_query_embedding(question), 1)).nodes
        assert llama.get_nodes([node.node_id]) == [node]


def test_k_is_k_distinct_ones(langchain):
    found = langchain.similarity_search("metals of the pump", k=6)
    assert len({document.id for document in found}) == 6
    assert [document.metadata["shelf"] for document in found].count(2) == 1


@pytest.mark.parametrize("rerank", [None, AnyGranularityRanker(WordVectors())])
def test_a_filter_that_excludes_a_part_shows_no_whole_document(core, langchain, llama, rerank):
    [proposition] = core.search("What is the cat called?", k=1, parents="unit")
    hidden = [unit.id for unit in core.units_of(["note"]) if unit.granularity == "sentence"]
    core.update_metadata({"secret": True}, unit_ids=hidden)
    for document in langchain.similarity_search(
        "What is the cat called?", k=9, filter={"secret": None}, rerank=rerank
    ):
        assert document.id != "note"
        assert document.metadata["granularity"] == "passage" or document.id == proposition.unit.id
    assert langchain.similarity_search("What is the cat called?", k=1)[0].id == "note"


def test_what_was_deleted_from_a_document_does_not_come_back_with_it(core, langchain):
    two = Document("# One\n\nThe door is red.\n\n# Two\n\nThe key is under the mat.", id="two")
    core.add_documents([two])
    [secret] = langchain.similarity_search("Where is the key?", k=1)
    assert secret.page_content == "The key is under the mat."
    langchain.delete(unit_ids=[secret.id])
    core.update_metadata({"color": "red"}, document_ids=["two"])
    [left] = langchain.similarity_search("Which color is the door?", k=1)
    assert left.page_content == "The door is red."
    core.add_documents([two])
    langchain.delete(unit_ids=[left.id])
    [left] = langchain.similarity_search("Where is the key?", k=1)
    assert left.page_content == secret.page_content


def test_a_question_in_words_is_searched_by_words_as_well(langchain, llama):
    question = "a screw of gold"
    whole = langchain.store.search(question, k=1)[0]
    vectors = langchain.store.search(question, k=1, lexical=0)[0]
    assert whole.score != vectors.score
    [(_, score)] = langchain.similarity_search_with_score(question, k=1)
    assert score == whole.score
    assert langchain.similarity_search_with_score(question, k=1, lexical=0)[0][1] == vectors.score
    embedding = MODEL.get_query_embedding(question)
    assert langchain.similarity_search_with_score_by_vector(embedding, k=1)[0][1] == pytest.approx(
        vectors.score
    )
    for mode in ("default", "hybrid", "mmr"):
        query = VectorStoreQuery(embedding, 1, query_str=question, mode=mode)
        assert llama.query(query).similarities == pytest.approx([whole.score])
        assert llama.query(query, lexical=0).similarities == pytest.approx([vectors.score])
        bare = VectorStoreQuery(embedding, 1, mode=mode)
        assert llama.query(bare).similarities == pytest.approx([vectors.score])
    relevant = langchain.similarity_search_with_relevance_scores(question, k=9)
    assert all(0 <= relevance <= 1 for _, relevance in relevant)


def test_the_rule_has_one_name(langchain, llama):
    assert langchain.parents == llama.parents == "auto"
    for wrong in ("paragraph", None):
        with pytest.raises(
            InvalidInputError, match="parents must be 'auto', 'passage', 'document' or 'unit'"
        ):
            SearchOptions(parents=wrong)
        with pytest.raises(InvalidInputError, match="parents must be 'auto'"):
            MultiGranularFAISS(EncoderEmbeddings(HashEncoder()), parents=wrong)
