"""Ids of documents and of units are two name spaces: nobody's document removes, replaces or changes
another's units.

Ids of units are made from content, so whoever knows a text knows the ids of its units, and can name
documents so.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from factoid.store import GRANULARITIES

pytest.importorskip("faiss")

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit

TEXT = "The vault is in the cellar. Its code is 4711.\n\n# Keys\n\nThe keys are with Ann. She is at home."
A = Document(TEXT, id="a", metadata={"tenant": "north"})


@pytest.fixture
def store(tmp_path):
    with UnitStore(tmp_path / "store", encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents([A])
        yield store


def ids_of(store: UnitStore, document_id: str = "a") -> list[str]:
    return [unit.id for unit in store.get(store.ids()) if unit.document_id == document_id]


def untouched(store: UnitStore, before: Any) -> None:
    """Check that document A is as it was."""
    assert state_of(store) == before
    assert store.verify() == []
    assert store.documents(["a"]) == [A]
    assert store.add_documents([A]).unchanged == 1


def state_of(store: UnitStore) -> Any:
    ids = ids_of(store)
    hits = store.search("code of the vault", 9, filter={"tenant": "north"}, document_ids=["a"])
    vectors = {unit_id: vector.tobytes() for unit_id, vector in store.vectors(ids).items()}
    return (
        store.get(ids),
        vectors,
        [(hit.unit, [match.unit for match in hit.matches]) for hit in hits],
    )


def hostile_documents(store: UnitStore) -> list[Document]:
    """Documents whose ids are those of A's units, and of its passages' texts."""
    return [
        Document(f"Text {number}. It is short.", id=unit_id)
        for number, unit_id in enumerate(ids_of(store))
    ]


def test_documents_with_ids_of_units(store):
    before, hostile = state_of(store), hostile_documents(store)
    assert store.add_documents(hostile).documents == len(hostile)
    untouched(store, before)
    for document in hostile:
        assert store.documents([document.id]) == [document]
    store.add_documents(
        [replace(document, text="Another one.") for document in hostile]
    )  # replaced by themselves alone
    untouched(store, before)
    store.update_metadata({"tenant": "south"}, ids=[document.id for document in hostile])
    untouched(store, before)
    assert store.search("short", 99, filter={"tenant": "south"}) != []
    assert store.delete([document.id for document in hostile]) > 0
    untouched(store, before)
    assert (
        store.delete(document_ids=[document.id for document in hostile]) == 0
    )  # they are gone, and A's units do not count
    assert store.update_metadata({"x": 1}, document_ids=[document.id for document in hostile]) == 0
    untouched(store, before)


def test_units_with_ids_of_documents(store):
    """A unit's id may be a document's: replacing the unit leaves the document."""
    before = state_of(store)
    for _ in range(2):
        for keep_children in (False, True):
            unit = Unit("a", "Another text.", Granularity.PASSAGE, "b", "b", 0, 13)
            store.add(
                [unit, replace(unit, id="b1", granularity=Granularity.SENTENCE, parent_id="a")],
                keep_children=keep_children,
            )
            untouched(store, before)
    assert store.delete(unit_ids=["a"]) == 2
    untouched(store, before)
    store.add([replace(unit, id="a")])
    assert store.delete(["a"]) == len(before[0])  # an id means the document first
    assert store.get(["a"]) != []
    assert store.delete(["a"]) == 1


def test_units_of_another_document(store, tmp_path):
    """No way to add a unit replaces a unit of another document; one that names another's passage is
    not under it.
    """
    before = state_of(store)
    stolen = [replace(unit, document_id="b", metadata={"tenant": "south"}) for unit in before[0]]
    for unit in stolen:
        for units in ([unit], [replace(unit, id="new"), unit]):
            for keep_children in (False, True):
                with pytest.raises(
                    InvalidInputError,
                    match="of document 'b' has the id of a unit of document 'a', which",
                ):
                    store.add(units, keep_children=keep_children)
    both = [replace(stolen[0], id="x", document_id=document) for document in ("b", "c")]
    with pytest.raises(
        InvalidInputError, match="of document 'c' has the id of a unit of document 'b'"
    ):
        store.add(both)
    file = tmp_path / "stolen.jsonl"
    names = ("id", "text", "granularity", "document_id", "parent_id", "start", "end", "metadata")
    lines = [json.dumps({name: getattr(unit, name) for name in names}) for unit in stolen]
    file.write_text("\n".join(lines))
    with pytest.raises(InvalidInputError, match="has the id of a unit of document 'a'"):
        store.import_from(file)
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as other:
        other.add(stolen)
        with pytest.raises(InvalidInputError, match="has the id of a unit of document 'a'"):
            store.merge(other)
        store.merge(other, keep=True)
    untouched(store, before)
    assert ids_of(store, "b") == []


def test_units_under_a_passage_of_another_document(store):
    before = state_of(store)
    passages = [unit for unit in before[0] if unit.granularity == "passage"]
    for passage in passages:
        for kind in (Granularity.SENTENCE, Granularity.PROPOSITION):
            forged = Unit(
                "",
                "The code of the vault is 0000.",
                kind,
                "b",
                passage.id,
                passage.start,
                passage.end,
            )
            store.add([forged])
    untouched(store, before)
    for kind in ("sentence", "proposition", "mixed"):
        for hit in store.search("The code of the vault is 0000.", 99, granularity=kind):
            documents = {hit.unit.document_id, *(match.unit.document_id for match in hit.matches)}
            assert len(documents) == 1
    forged_ids = ids_of(store, "b")
    store.update_metadata({"tenant": "south"}, document_ids=["b"])  # which closes no passage of A
    untouched(store, before)
    assert store.delete(unit_ids=[passages[0].id]) == 1 + sum(
        unit.parent_id == passages[0].id for unit in before[0]
    )
    assert ids_of(store, "b") == forged_ids


def test_a_unit_that_waits_for_a_document(store):
    """Somebody adds units under the ids that a document's units will have: one clear error, and
    nothing is lost.
    """
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as other:
        other.add_documents([A])
        waiting = [replace(unit, document_id="squatter") for unit in other.get(other.ids())]
    store.delete(document_ids=["a"])
    store.add(waiting)
    with pytest.raises(
        InvalidInputError,
        match=r"of document 'a' has the id of a unit of document 'squatter'.*unit_ids",
    ):
        store.add_documents([A])
    assert ids_of(store, "squatter") == [unit.id for unit in waiting]
    store.delete(document_ids=["squatter"])
    store.add_documents([A])
    assert store.documents(["a"]) == [A]


def test_merging_and_importing_documents_with_ids_of_units(store, tmp_path):
    before, hostile = state_of(store), hostile_documents(store)
    with UnitStore(tmp_path / "other", encoder=HashEncoder(), granularities=GRANULARITIES) as other:
        other.add_documents(hostile)
        for suffix in (".jsonl", ".parquet"):
            if suffix == ".parquet":
                pytest.importorskip("pyarrow")
            other.export(tmp_path / f"hostile{suffix}")
            store.import_from(tmp_path / f"hostile{suffix}")
            untouched(store, before)
        for keep in (True, False):
            store.merge(other, keep=keep)
            untouched(store, before)
    assert store.documents([document.id for document in hostile]) == hostile


def test_langchain(store):
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.indexing import InMemoryRecordManager, index

    from langchain_factoid import MultiGranularFAISS

    before = state_of(store)
    langchain = MultiGranularFAISS(store=store)
    names = ids_of(store)
    documents = [
        LangChainDocument(page_content="Another text.", id=name, metadata={"source": name})
        for name in names
    ]
    for _ in range(2):
        langchain.add_documents(documents)
        untouched(store, before)
        langchain.add_documents(documents, ids=names)
        langchain.add_texts(["Another text."] * len(names), ids=names)
        langchain.add_embeddings([("Another text.", [0.1] * 256)] * len(names), ids=names)
        untouched(store, before)
        records = InMemoryRecordManager(namespace="x")
        records.create_schema()
        index(
            documents,
            records,
            langchain,
            cleanup="full",
            source_id_key="source",
            key_encoder=lambda each: each.id,
        )
        index(
            [],
            records,
            langchain,
            cleanup="full",
            source_id_key="source",
            key_encoder=lambda each: each.id,
        )
        untouched(store, before)
        with pytest.raises(InvalidInputError, match="is the id of a passage"):
            langchain.delete(names)  # their documents are gone; the units are no documents
        untouched(store, before)
    assert [document.metadata["parent_id"] for document in langchain.get_by_ids(names)] == [
        "a"
    ] * len(names)
    langchain.delete(unit_ids=names[:1])
    assert ids_of(store) != names


def test_llama_index(store):
    pytest.importorskip("llama_index.core")
    from llama_index.core import Document as LlamaDocument
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    from factoid.sentences import sentence_spans
    from factoid.testing import ScriptedPropositionizer
    from llama_index_factoid import (
        EncoderEmbedding,
        MultiGranularFaissVectorStore,
        MultiGranularNodeParser,
    )

    before = state_of(store)
    names, path = ids_of(store), store.path
    vector_store = MultiGranularFaissVectorStore(path)
    script = ScriptedPropositionizer(
        lambda passage: [passage.text[start:end] for start, end in sentence_spans(passage.text)]
    )
    index = VectorStoreIndex.from_documents(
        [LlamaDocument(text="Another text.", id_=name) for name in names],
        storage_context=StorageContext.from_defaults(vector_store=vector_store),
        transformations=[MultiGranularNodeParser(propositionizer=script)],
        embed_model=EncoderEmbedding(HashEncoder()),
    )
    untouched(store, before)
    for name in names:
        index.update_ref_doc(LlamaDocument(text="Yet another text.", id_=name))
        index.delete_ref_doc(name)
        index.delete_ref_doc(name)
        vector_store.delete(name)
    untouched(store, before)
    embedding = np.ones(256).tolist()
    alone = TextNode(
        id_="a", text="A node without a source is a document of its own.", embedding=embedding
    )
    vector_store.add([alone])
    assert store.get(names) == before[0]
    vector_store.delete_nodes(["a"])
    assert store.get(names) == before[0]
    store.add_documents([A])  # it counts as changed, since there was a node more
    for name in names:
        stolen = TextNode(id_=name, text="Mine.", embedding=embedding)
        for source in (None, "b"):
            if source:
                stolen.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=source)
            with pytest.raises(InvalidInputError, match="has the id of a unit of document 'a'"):
                vector_store.add([stolen])
    untouched(store, before)
    vector_store.delete_nodes(names[-1:])
    assert ids_of(store) == names[:-1]
    vector_store.close()


def test_command_line(store, capsys):
    pytest.importorskip("typer")
    from factoid.cli import main

    before, hostile = state_of(store), hostile_documents(store)
    store.add_documents(hostile)
    path = str(store.path)
    for document in hostile:
        assert main(["store", "delete", path, document.id]) in (0, None)
    capsys.readouterr()
    untouched(store, before)
