"""Documents move between our own store and a vector store, both ways, and go on where they stopped."""

from __future__ import annotations

import json
import sys

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.vector_stores import SimpleVectorStore

import langchain_factoid
import llama_index_factoid
from factoid import Document, UnitStore
from factoid.cli import main
from factoid.errors import EncoderMismatchError
from factoid.existing.move import move_from, move_to
from factoid.testing import HashEncoder
from tests.existing.corpus import ENCODER, PROPOSITIONIZER, QUESTION, documents, oracle

# Left by stores that other files of the same process have opened.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def in_memory():
    store = InMemoryVectorStore(langchain_factoid.EncoderEmbeddings(ENCODER))
    return langchain_factoid.MultiGranularRetriever(vectorstore=store).existing


def simple():
    model = llama_index_factoid.EncoderEmbedding(ENCODER)
    return llama_index_factoid.MultiGranularRetriever(
        vectorstore=SimpleVectorStore(), embed_model=model
    ).existing


STORES = pytest.mark.parametrize("make", [in_memory, simple])


def content(store):
    with store.opened.connections.reading() as snapshot:
        held = {}
        for unit, vector in snapshot.stored_units():
            held[unit.id] = (
                unit,
                None if vector is None else [round(float(value), 6) for value in vector],
            )
        texts = {document.id: (document, digest) for document, digest in snapshot.all_documents()}
        return held, texts


@STORES
def test_there_and_back_is_the_same_store(make):
    store = oracle(documents())
    existing = make()
    report = move_to(store, existing)
    assert (report.documents, report.unchanged, report.units) == (25, 0, len(store))
    assert existing.verify() == []
    back = UnitStore(encoder=ENCODER, granularities=["passage", "proposition"])
    assert move_from(existing, back).documents == 25
    assert content(back) == content(store)
    scores = [hit.score for hit in store.search(QUESTION, 5)]
    assert [hit.score for hit in back.search(QUESTION, 5)] == pytest.approx(scores)


@STORES
def test_only_what_has_changed_moves_again(make):
    store = oracle(documents())
    existing = make()
    move_to(store, existing)
    assert move_to(store, existing).documents == 0
    changed = Document("Beacon records of another coast.", id="d3")
    store.add_documents([changed], propositionizer=PROPOSITIONIZER)
    assert move_to(store, existing).documents == 1
    assert existing.documents(["d3"]) == [changed]
    assert existing.verify() == []
    back = oracle(documents())
    assert move_from(existing, back).unchanged == 24
    assert back.documents(["d3"]) == [changed]


def test_an_interrupted_move_goes_on(monkeypatch):
    store = oracle(documents(150))
    existing = in_memory()
    put = existing.collection.put
    calls = 0

    def interrupted(rows):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        put(rows)

    with monkeypatch.context() as patched:
        patched.setattr(existing.collection, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            move_to(store, existing)
    report = move_to(store, existing)
    assert report.unchanged == 64
    assert report.documents == 151 - 64
    assert existing.verify() == []


def test_no_text_is_encoded_again():
    store = oracle(documents())

    class Counting(HashEncoder):
        texts = 0

        def encode_units(self, texts):
            self.texts += len(texts)
            return super().encode_units(texts)

    encoder = Counting(ENCODER.dim)
    encoder.name = ENCODER.name
    model = llama_index_factoid.EncoderEmbedding(encoder)
    retriever = llama_index_factoid.MultiGranularRetriever(
        vectorstore=SimpleVectorStore(), embed_model=model
    )
    move_to(store, retriever.existing)
    assert encoder.texts <= 25  # what stands for each document


def test_other_vectors_are_refused():
    store = oracle(documents())
    other = InMemoryVectorStore(langchain_factoid.EncoderEmbeddings(HashEncoder(32)))
    existing = langchain_factoid.MultiGranularRetriever(vectorstore=other).existing
    with pytest.raises(EncoderMismatchError, match="cannot be compared"):
        move_to(store, existing)


def test_the_command(tmp_path, monkeypatch, capsys):
    program = """
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_factoid import EncoderEmbeddings
from factoid.testing import HashEncoder

vectors = InMemoryVectorStore(EncoderEmbeddings(HashEncoder(64)))
"""
    (tmp_path / "my_app.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    oracle(documents(), path=tmp_path / "facts").close()
    assert main(["store", "move", "facts", "my_app:vectors", "--json"]) == 0
    moved = json.loads(capsys.readouterr().out)
    assert moved["documents"] == 25
    assert main(["store", "move", "my_app:vectors", "copy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == moved
    assert main(["store", "verify", "my_app:vectors"]) == 0
    assert "all is well" in capsys.readouterr().out
    vectors = sys.modules["my_app"].vectors
    [name, *_] = [
        name
        for name, row in vectors.store.items()
        if row["metadata"]["factoid_granularity"] == "passage"
    ]
    vectors.delete([name])
    assert main(["store", "verify", "my_app:vectors"]) == 1
    for arguments in (
        ["facts", "copy"],
        ["no_such_module:x", "copy"],
        ["my_app:y", "copy"],
        ["my_app:HashEncoder", "copy"],
    ):
        assert main(["store", "move", *arguments]) == 1
        assert "error:" in capsys.readouterr().err
    sys.modules.pop("my_app")
