"""Both frameworks, one behaviour: the same corpus, queries and options give the same parents,
scores and matches.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from factoid.store import GRANULARITIES

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

import langchain_factoid
import llama_index_factoid
from factoid import Document, Granularity, SyntaxPropositionizer, UnitStore
from factoid.testing import HashEncoder

# One paragraph each, so that LangChain's parent (the document) and LlamaIndex's (the passage) are
# the same text.
CORPUS = [
    "The Vasa was a large Swedish warship that sank on its maiden voyage in Stockholm harbour in 1628. It was raised in 1961.",
    "Anna Berg was born in the old town of Oslo in 1900 and moved to a small flat in Berlin in 1925.",
    "The Fram, a wooden polar ship designed by the Scottish-Norwegian shipwright Colin Archer, drifted across the Arctic.",
    "A kakapo is a large flightless parrot of New Zealand. It climbs well, and males boom at night to attract females.",
    "Oslo is the capital of Norway, while Stockholm is the capital of Sweden and lies on fourteen islands.",
    "Short.",
    "The Fram and the Vasa are both shown in museums: one in Oslo, the other in Stockholm.",
]
QUERIES = [
    "Who designed the Fram?",
    "Which warship sank in Stockholm?",
    "flightless parrot",
    "capital of Norway",
]
METADATA = [
    {"place": place, "kind": "odd" if place % 2 else "even"} for place in range(len(CORPUS))
]
PROPOSITIONIZER = SyntaxPropositionizer()

Found = list[
    tuple[str, float, list[tuple[str, float]], list[str]]
]  # text, score, matches, neighbours


@cache
def langchain_store() -> langchain_factoid.MultiGranularFAISS:
    embeddings = langchain_factoid.EncoderEmbeddings(HashEncoder())
    store = langchain_factoid.MultiGranularFAISS(
        embeddings, propositionizer=PROPOSITIONIZER, granularities=GRANULARITIES
    )
    store.add_texts(CORPUS, METADATA)
    return store


@cache
def llama_index_index() -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [
            LlamaIndexDocument(text=text, metadata=row)
            for text, row in zip(CORPUS, METADATA, strict=True)
        ],
        storage_context=StorageContext.from_defaults(
            vector_store=llama_index_factoid.MultiGranularFaissVectorStore()
        ),
        transformations=[
            llama_index_factoid.MultiGranularNodeParser(
                PROPOSITIONIZER, granularities=GRANULARITIES
            )
        ],
        embed_model=llama_index_factoid.EncoderEmbedding(HashEncoder()),
    )


def record(text: str, score: float | None, metadata: dict[str, Any]) -> tuple[Any, ...]:
    matches = [(match["text"], match["score"]) for match in metadata.get("matches", [])]
    return text, score, matches, [neighbour["text"] for neighbour in metadata.get("neighbours", [])]


def langchain(query: str, **options: Any) -> Found:
    documents = langchain_factoid.MultiGranularRetriever(store=langchain_store(), **options).invoke(
        query
    )
    return [
        record(entry.page_content, entry.metadata["score"], entry.metadata) for entry in documents
    ]


def llama_index(query: str, **options: Any) -> Found:
    nodes = llama_index_factoid.MultiGranularRetriever(llama_index_index(), **options).retrieve(
        query
    )
    return [record(entry.node.get_content(), entry.score, entry.node.metadata) for entry in nodes]


def rounded(found: Found) -> list[tuple[float, str, list[tuple[float, str]]]]:
    """Return results with scores to five digits; of equal scores in order of the text, since ties
    have no order; no zeros.
    """
    results = [
        (round(score, 5), text, sorted((round(part, 5), match) for match, part in matches))
        for text, score, matches, _ in found
        if round(score, 5)
    ]
    return sorted(results, key=lambda result: (-result[0], result[1]))


def filters(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


SEVERAL = {"granularity": ["passage", "sentence"]}
PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(
        ({"granularity": kind}, {"granularity": kind})
        for kind in ("passage", "sentence", "proposition", "mixed")
    ),
    (SEVERAL, SEVERAL),
    ({"filter": {"kind": "odd"}}, {"filters": filters("kind", "odd")}),
    ({"filter": {"place": {"$lt": 4}}}, {"filters": filters("place", 4, FilterOperator.LT)}),
    ({"min_score": 0.3}, {"min_score": 0.3}),
    ({}, {}),
    (
        {"search_type": "mmr", "lambda_mult": 0.3, "fetch_k": 99},
        {"mode": "mmr", "mmr_threshold": 0.3, "mmr_prefetch_k": 99},
    ),
]


@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("pair", PAIRS)
def test_options_mean_the_same(pair: tuple[dict[str, Any], dict[str, Any]], parents: Any) -> None:
    fused = (
        not isinstance(pair[0].get("granularity", ""), str) or pair[0].get("granularity") == "mixed"
    )
    for query in QUERIES:
        one = langchain(query, k=3, parents=parents, **pair[0])
        other = llama_index(query, k=3, parents=parents, **pair[1])
        assert [round(score, 5) for _, score, *_ in one] == [
            round(score, 5) for _, score, *_ in other
        ]
        if not fused:  # else the same text at two granularities gives equal scores, in no order
            assert rounded(one) == rounded(other)
        elif parents == "passage":
            assert {text for text, *_ in one} == {text for text, *_ in other}


@pytest.mark.parametrize("parents", ["passage", "unit"])
def test_neighbours_are_the_same(parents: Any) -> None:
    for query in QUERIES:
        (one,), (other,) = (
            find(query, k=1, granularity="sentence", expand=1, parents=parents)
            for find in (langchain, llama_index)
        )
        assert (one[0], one[3]) == (other[0], other[3])
        assert one[3]


def test_an_encoder_of_the_core_keeps_its_name() -> None:
    """So that the core, the command line and LangChain open each other's stores."""
    name = HashEncoder().name
    back = langchain_factoid.LangChainEncoder(langchain_factoid.EncoderEmbeddings(HashEncoder()))
    assert back.name == name
    assert (
        llama_index_factoid.LlamaIndexEncoder(
            llama_index_factoid.EncoderEmbedding(HashEncoder())
        ).name
        == name
    )


def test_the_papers_splitting_is_an_option_in_both():
    text = "Hi Tom,\n\nit failed.\n\nA rat bit through the cable."
    langchain = langchain_factoid.PassageTextSplitter(join_paragraphs=False).split_text(text)
    parser = llama_index_factoid.MultiGranularNodeParser(
        granularities=["passage"], join_paragraphs=False
    )
    llama_index = [
        node.text for node in parser.get_nodes_from_documents([LlamaIndexDocument(text=text)])
    ]
    assert langchain == llama_index == text.split("\n\n")
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        report = store.add_documents([Document(text)], join_paragraphs=False)
        assert report.units[Granularity.PASSAGE] == 3
        assert (
            store.add_documents([Document(text)]).units[Granularity.PASSAGE] == 1
        )  # another splitting is a change
