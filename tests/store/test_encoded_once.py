"""Equal texts are encoded once: within a call, and of an edited document only what is new."""

from __future__ import annotations

import pytest

from factoid import Document, UnitStore, split_passages
from factoid.testing import HashEncoder

TEXT = "\n\n".join(f"# Part {n}\n\nRow {n} is here. It has {n} cells." for n in range(9))


class Counting(HashEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def encode_units(self, texts):
        self.texts += texts
        return super().encode_units(texts)


class AsyncCounting(Counting):
    async def aencode_units(self, texts):
        return self.encode_units(texts)


class Nameless:
    def __init__(self) -> None:
        self.counting = Counting()

    def encode_queries(self, texts):
        return self.counting.encode_queries(texts)

    def encode_units(self, texts):
        return self.counting.encode_units(texts)


async def add(store, document, awaited):
    if awaited:
        await store.aadd_documents([document])
    else:
        store.add_documents([document])


@pytest.mark.parametrize("awaited", [False, True])
async def test_of_an_edited_document_only_new_texts_are_encoded(awaited):
    encoder = AsyncCounting() if awaited else Counting()
    with UnitStore(encoder=encoder) as store:
        await add(store, Document(TEXT, id="book"), awaited)
        assert len(encoder.texts) == len({*encoder.texts})
        encoder.texts.clear()
        edited = TEXT.replace("Row 4 is here", "Row 4 was lost")
        await add(store, Document(edited, id="book"), awaited)
        assert encoder.texts
        assert all("Part 4" in text for text in encoder.texts)
        found = {hit.unit.text: hit.score for hit in store.search("Row 4 was lost", k=9)}
        assert store.verify() == []
    with UnitStore(encoder=Counting()) as fresh:
        fresh.add_documents([Document(edited, id="book")])
        assert {
            hit.unit.text: hit.score for hit in fresh.search("Row 4 was lost", k=9)
        } == pytest.approx(found)


def test_vectors_that_another_one_made_are_not_taken():
    """Of an encoder without a name, and of units that the caller added with vectors of their own."""
    nameless = Nameless()
    with UnitStore(encoder=nameless) as store:
        store.add_documents([Document(TEXT, id="book")])
        count = len(nameless.counting.texts)
        store.add_documents([Document(TEXT + " And more.", id="book")])
        assert len(nameless.counting.texts) >= 2 * count
    encoder = Counting()
    with UnitStore(encoder=encoder) as store:
        store.add_documents([Document("Ice floats.", id="ice")])
        units = store.units_of(["ice"])
        store.add(units, vectors=[[1.0] * 256 for _ in units])
        encoder.texts.clear()
        store.add_documents([Document("Ice floats.", id="ice")])
        assert encoder.texts != []


def test_an_embedding_model_of_llama_index_gets_a_text_once():
    pytest.importorskip("llama_index.core")
    from llama_index.core import Document as LlamaIndexDocument
    from llama_index.core import StorageContext, VectorStoreIndex

    from llama_index_factoid import (
        EncoderEmbedding,
        MultiGranularFaissVectorStore,
        MultiGranularNodeParser,
    )

    encoder = Counting()
    VectorStoreIndex.from_documents(
        [LlamaIndexDocument(text=TEXT)],
        storage_context=StorageContext.from_defaults(vector_store=MultiGranularFaissVectorStore()),
        transformations=[MultiGranularNodeParser()],
        embed_model=EncoderEmbedding(encoder, embed_batch_size=10),
    )
    assert len(encoder.texts) == len({*encoder.texts})
    model = EncoderEmbedding(encoder)
    first = model.get_text_embedding("Ice floats.")
    first[0] = 99.0
    assert (
        model.get_text_embedding("Ice floats.")[0] != 99.0
    )  # what is handed out is the caller's own
    many = [f"Text {n}." for n in range(3000)]
    assert len(model.get_text_embedding_batch(many)) == len(many)
    assert len(model._latest) <= 1000


def test_unchanged_documents_are_not_even_split(monkeypatch):
    documents = [Document(f"Anna sang in town {n}. Bob slept.", id=str(n)) for n in range(600)]
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents(documents)
        documents[500] = Document("Carla cooked.", id="500")
        split = []

        def noting(document, **options):
            split.append(document.id)
            return split_passages(document, **options)

        monkeypatch.setattr("factoid.store.document_units.split_passages", noting)
        report = store.add_documents(documents)
        assert (report.documents, report.unchanged, split) == (1, 599, ["500"])


def test_the_last_of_equal_ids_wins_wherever_it_stands():
    first, second = Document("Anna sang.", id="a"), Document("Anna slept.", id="a")
    others = [Document(f"Bob sang in town {n}.", id=str(n)) for n in range(300)]
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents([first])
        store.add_documents([second, *others, first])
        assert store.documents(["a"]) == [first]
        store.add_documents([second, first, second])
        assert store.documents(["a"]) == [second]
