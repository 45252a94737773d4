"""One store format: what the core, LangChain or LlamaIndex wrote, all three open, with the same
hits and spans.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import BaseNode, MetadataMode, TextNode

from factoid import Document, Hit, UnitStore
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from factoid.units import Unit
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS
from langchain_factoid import MultiGranularRetriever as LangChainRetriever
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
)

RIVERS = {"arve": "Arve", "sorne": "Sorne", "birs": "Birs"}
CHAPTERS = ("Course", "Trade", "Wildlife")


def text(name: str) -> str:
    """Several passages under several headings, with a table that has no proposition of its own."""
    parts = [f"# {name}"]
    for chapter, topic in enumerate(CHAPTERS):
        parts.append(f"## {topic}\n\n| {topic} | {name} |\n|---|---|\n| 1 | 2 |")
        parts += [
            (
                f"The {name} was measured at gauge {10 * chapter + place} by the {topic} office. It "
                f"carried {place + 3} barges. "
            )
            + f"Boatmen of the {name} kept a record of {topic.lower()} there. " * 6
            for place in range(3)
        ]
    return "\n\n".join(parts)


METADATA: dict[str, dict[str, Any]] = {
    river: {"river": river, "year": 1900 + place, "tags": ["swiss", river]}
    for place, river in enumerate(RIVERS)
}
DOCUMENTS = [
    Document(text(name), id=river, metadata=METADATA[river]) for river, name in RIVERS.items()
]
QUESTION = "How many barges did the Sorne carry at gauge 12 of the trade office?"
MODEL = EncoderEmbedding(HashEncoder())
EMBEDDINGS = EncoderEmbeddings(HashEncoder())
SEARCHES: list[dict[str, Any]] = [
    {"granularity": granularity, "parents": parents}
    for granularity in ("passage", "proposition", "mixed")
    for parents in ("passage", "unit")
]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A store of the same documents by each writer."""
    written = {
        name: tmp_path_factory.mktemp(name) / "store"
        for name in ("core", "langchain", "llama_index")
    }
    with UnitStore(written["core"], encoder=HashEncoder()) as core:
        core.add_documents(DOCUMENTS)
        assert min(core.counts().values()) == 9 * 3
    with MultiGranularFAISS(EMBEDDINGS, path=written["langchain"]) as langchain:
        langchain.add_documents(
            [LangChainDocument(d.text, id=d.id, metadata={**d.metadata}) for d in DOCUMENTS]
        )
    llama = MultiGranularFaissVectorStore(written["llama_index"], embed_model=MODEL)
    index = VectorStoreIndex.from_vector_store(llama, embed_model=MODEL)
    llama_documents = [
        LlamaDocument(text=d.text, id_=d.id, metadata={**d.metadata}) for d in DOCUMENTS
    ]
    index.insert_nodes(MultiGranularNodeParser()(llama_documents))
    llama.close()
    return written


def of_core(path: Path, **options: Any) -> list[Hit]:
    with UnitStore(path, encoder=HashEncoder(), read_only=True) as store:
        return store.search(QUESTION, 6, **options)


def of_llama(path: Path, **options: Any) -> list[Any]:
    store = MultiGranularFaissVectorStore(path, read_only=True)
    found = MultiGranularRetriever(store, MODEL, k=6, **options).retrieve(QUESTION)
    store.close()
    return found


def of_langchain(path: Path, **options: Any) -> list[LangChainDocument]:
    with MultiGranularFAISS.load_local(path, EMBEDDINGS, read_only=True) as store:
        return LangChainRetriever(store=store, k=6, **options).invoke(QUESTION)


def caller_metadata(metadata: Any) -> dict[str, Any]:
    return {key: metadata[key] for key in ("river", "year", "tags")}


def same(hit: Hit, node: BaseNode, score: float) -> None:
    assert isinstance(node, TextNode)
    unit = hit.unit
    assert (unit.id, unit.text) == (node.node_id, node.text)
    assert (unit.start, unit.end) == (node.start_char_idx, node.end_char_idx)
    assert hit.score == pytest.approx(score, abs=1e-5)
    assert (
        caller_metadata(unit.metadata)
        == caller_metadata(node.metadata)
        == METADATA[unit.document_id]
    )
    assert (unit.title, unit.section) == (node.metadata["title"], node.metadata["section"])
    assert unit.document_id == node.ref_doc_id
    assert node.metadata["granularity"] == unit.granularity
    embedded = node.get_content(MetadataMode.EMBED)
    assert all(part in embedded for part in (unit.text, unit.title, unit.section))
    assert "river" not in embedded.replace(unit.text, "")
    if unit.granularity != "passage":
        assert node.parent_node is not None
        assert unit.parent_id == node.parent_node.node_id == node.metadata["passage_id"]
    matches = [(m.unit.id, m.unit.start, m.unit.end) for m in hit.matches]
    if "matches" in node.metadata:
        assert matches == [
            (m["id"], m["start_char_idx"], m["end_char_idx"]) for m in node.metadata["matches"]
        ]


def same_in_langchain(hit: Hit, document: LangChainDocument) -> None:
    unit, metadata = hit.unit, document.metadata
    assert (unit.id, unit.text) == (document.id, document.page_content)
    assert (unit.start, unit.end) == (metadata["start_index"], metadata["end_index"])
    assert (unit.document_id, unit.title, unit.section) == tuple(
        metadata[key] for key in ("parent_id", "title", "section")
    )
    assert metadata["passage_id"] == (unit.id if unit.granularity == "passage" else unit.parent_id)
    assert metadata["granularity"] == unit.granularity
    assert metadata["score"] == pytest.approx(hit.score, abs=1e-5)
    assert caller_metadata(metadata) == METADATA[unit.document_id]
    if "matches" in metadata:
        matches = [(match.unit.id, match.unit.start, match.unit.end) for match in hit.matches]
        assert matches == [(m["id"], m["start_index"], m["end_index"]) for m in metadata["matches"]]


@pytest.mark.parametrize("writer", ["core", "langchain", "llama_index"])
@pytest.mark.parametrize("options", SEARCHES, ids=lambda options: "-".join(options.values()))
def test_all_find_the_same_in_each_others_stores(
    options: dict[str, Any], writer: str, paths: dict[str, Path]
) -> None:
    hits = of_core(paths[writer], **options)
    nodes, documents = of_llama(paths[writer], **options), of_langchain(paths[writer], **options)
    assert len(hits) == len(nodes) == len(documents) == 6
    assert hits[0].unit.document_id == "sorne"
    for hit, result, document in zip(hits, nodes, documents, strict=True):
        same(hit, result.node, result.score)
        same_in_langchain(hit, document)


def test_all_write_the_same_units(paths: dict[str, Path]) -> None:
    def units(path: Path) -> dict[str, tuple[Any, ...]]:
        with UnitStore(path, encoder=None, read_only=True) as store:
            return {unit.id: fields(unit) for unit in store.get(store.ids())}

    def fields(unit: Unit) -> tuple[Any, ...]:
        place = (
            unit.granularity,
            unit.document_id,
            unit.parent_id,
            unit.start,
            unit.end,
            unit.title,
            unit.section,
        )
        return (*place, unit.text, caller_metadata(unit.metadata))

    assert units(paths["core"]) == units(paths["langchain"]) == units(paths["llama_index"])


def test_whole_documents_of_the_core(paths: dict[str, Path]) -> None:
    [first, *_] = of_llama(paths["core"], parents="document")
    assert isinstance(first.node, LlamaDocument)
    assert (first.node.node_id, first.node.text) == ("sorne", DOCUMENTS[1].text)
    assert caller_metadata(first.node.metadata) == METADATA["sorne"]
    assert first.node.metadata["matches"][0]["text"] in first.node.text
    with pytest.raises(InvalidInputError, match="parents='passage'"):
        of_llama(paths["llama_index"], parents="document")
