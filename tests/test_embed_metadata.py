"""Texts that only their metadata tell apart: `embed_metadata` is one option of the core and both
frameworks.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode

from factoid import AnyGranularityRanker, Document, UnitStore
from factoid.heading_template import with_heading, with_metadata
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.testing import HashEncoder
from langchain_factoid import (
    EncoderEmbeddings,
    MultiGranularFAISS,
    MultiGranularRetriever,
    with_headings,
)
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
)
from llama_index_factoid import MultiGranularRetriever as LlamaIndexRetriever
from tests.late_interaction.word_vectors import WordVectors

TEXT = "The warranty lasts 24 months.\n\nThe battery runs for 90 minutes on the carpet."
PRODUCTS = ("Tern 40", "Heron 7", "Swift 9")
MODEL = EncoderEmbedding(HashEncoder())
KEYS = ["product"]


def in_langchain(path=None, keys=KEYS):
    store = MultiGranularFAISS(EncoderEmbeddings(HashEncoder()), path=path, embed_metadata=keys)
    store.add_documents(
        [LangChainDocument(TEXT, id=name, metadata={"product": name}) for name in PRODUCTS]
    )
    return store


def in_llama_index(path=None, keys=KEYS, **options):
    store = MultiGranularFaissVectorStore(path, embed_model=MODEL, **options)
    documents = [
        LlamaIndexDocument(
            text=TEXT,
            id_=name,
            metadata={"product": name, "file_name": f"{name}.md"},
            excluded_embed_metadata_keys=["file_name"],
            excluded_llm_metadata_keys=["file_name"],
        )
        for name in PRODUCTS
    ]
    return VectorStoreIndex.from_documents(
        documents,
        storage_context=StorageContext.from_defaults(vector_store=store),
        transformations=[MultiGranularNodeParser(embed_metadata=keys)],
        embed_model=MODEL,
    )


@pytest.mark.parametrize("lexical", [None, 0.0, 1.0])
def test_three_manuals_that_differ_in_their_product_only_are_told_apart(lexical):
    """By vectors, by words, and by both."""
    langchain, llama = in_langchain(), in_llama_index()
    for name in PRODUCTS:
        question = f"How long does the warranty of the {name} last?"
        [document] = MultiGranularRetriever(store=langchain, k=1, lexical=lexical).invoke(question)
        assert document.metadata["product"] == name
        options = {} if lexical is None else {"lexical": lexical}
        [found] = LlamaIndexRetriever(llama, k=1, **options).retrieve(question)
        assert found.node.metadata["product"] == name
        assert found.score == pytest.approx(document.metadata["score"], abs=1e-5)
    without = MultiGranularRetriever(store=in_langchain(keys=None), k=3)
    scores = {
        document.metadata["score"]
        for document in without.invoke("How long does the warranty of the Tern 40 last?")
    }
    assert len(scores) == 1  # nothing tells them apart


def test_what_is_embedded_is_text_with_its_metadata_before_it(tmp_path):
    encoded = []

    class Recording(HashEncoder):
        def encode_units(self, texts):
            encoded.extend(texts)
            return super().encode_units(texts)

    metadata = {
        "product": "Tern 40",
        "tags": ["old", "blue"],
        "dc:title": "Manual",
        "year": 1990,
        "none": None,
    }
    with UnitStore(
        encoder=Recording(),
        embed_metadata=["year", "product", "tags", "dc:title", "none", "absent"],
    ) as store:
        store.add_documents([Document("It lasts 24 months.", title="Warranty", metadata=metadata)])
        assert "1990 — Tern 40 — old, blue — Manual — Warranty: It lasts 24 months." in encoded
        assert store.search("blue 1990", k=1, lexical=1.0)[0].score > 0
    [passage, *_] = MultiGranularNodeParser(embed_metadata=["year", "product"])(
        [
            LlamaIndexDocument(
                text="It lasts 24 months.",
                metadata={"title": "Warranty", "product": "Tern 40", "year": 1990},
            )
        ]
    )
    assert (
        passage.get_content(MetadataMode.EMBED) == "1990 — Tern 40 — Warranty: It lasts 24 months."
    )
    assert passage.get_content(MetadataMode.LLM) == passage.get_content(MetadataMode.EMBED)


@pytest.mark.parametrize(
    ("title", "section", "text"),
    [
        ("Tern 40 — manual", "", "It lasts."),
        ("Manual", "Tern 40, Care", "It lasts."),
        ("", "", "The Tern 40 lasts."),
    ],
)
def test_a_value_that_is_there_already_is_not_written_twice(title, section, text):
    document = Document(
        text, title, section, metadata={"product": "The Tern 40" if not title else "Tern 40"}
    )
    written = with_heading(document, with_metadata("{title} — {section}: {text}", KEYS))
    assert written.count("Tern 40") == 1
    assert (
        with_heading(
            Document("It lasts.", metadata={"product": "x" * 5000}), "{product}: {text}"
        ).count("x")
        == 1000
    )


def test_a_store_knows_its_list_and_refuses_another(tmp_path):
    in_langchain(tmp_path / "store").close()
    encoder = EncoderEmbeddings(HashEncoder())
    with MultiGranularFAISS(encoder, path=tmp_path / "store") as again:  # as it was filled
        assert again.store.embed_metadata == ("product",)
        assert again.store.stats()["embed_metadata"] == ["product"]
        question = "warranty of the Swift 9"
        again.add_documents([LangChainDocument(TEXT, id="new", metadata={"product": "Plover 5"})])
        [best] = again.similarity_search(question, k=1)
        assert best.metadata["product"] == "Swift 9"
        [best] = again.similarity_search("warranty of the Plover 5", k=1)
        assert best.metadata["product"] == "Plover 5"
        with pytest.raises(
            InvalidInputError, match=r"metadata\['product'\] is encoded .* add the documents again"
        ):
            again.store.update_metadata({"product": "Other"}, document_ids=["new"])
        again.store.update_metadata({"shelf": 1}, document_ids=["new"])
        again.store.export(tmp_path / "export.jsonl")
    with UnitStore(tmp_path / "imported", encoder=HashEncoder()) as imported:
        imported.import_from(tmp_path / "export.jsonl")
        assert imported.embed_metadata == ("product",)
    for keys in ([], ["product", "version"]):
        with pytest.raises(
            EncoderMismatchError,
            match=r"built with the embed_metadata '\[\"product\"\]'.*or a new store",
        ):
            MultiGranularFAISS(encoder, path=tmp_path / "store", embed_metadata=keys)
        with UnitStore(encoder=HashEncoder(), embed_metadata=keys) as other:
            other.add_documents([Document("A text.", metadata={"product": "x"})])
            with pytest.raises(EncoderMismatchError, match="embed_metadata"):
                other.merge(tmp_path / "store")
    with UnitStore(tmp_path / "plain", encoder=HashEncoder()) as plain:
        plain.add_documents([Document("A text.")])
    with pytest.raises(EncoderMismatchError, match=r"built with the embed_metadata '\[\]'"):
        UnitStore(tmp_path / "plain", encoder=HashEncoder(), embed_metadata=["product"])


def test_in_llama_index_the_parser_says_it_and_the_store_remembers(tmp_path):
    store = in_llama_index(tmp_path / "store").vector_store
    assert store.client.embed_metadata == ("product",)
    store.close()
    with MultiGranularFaissVectorStore(tmp_path / "store", embed_model=MODEL) as again:
        index = VectorStoreIndex.from_vector_store(
            again, embed_model=MODEL, transformations=[MultiGranularNodeParser(embed_metadata=KEYS)]
        )
        index.insert(LlamaIndexDocument(text=TEXT, id_="new", metadata={"product": "Plover 5"}))
        [found] = index.as_retriever(similarity_top_k=1).retrieve("warranty of the Plover 5")
        assert found.node.ref_doc_id == "new"
        forgetful = VectorStoreIndex.from_vector_store(
            again, embed_model=MODEL, transformations=[MultiGranularNodeParser()]
        )
        with pytest.raises(
            EncoderMismatchError, match=r'MultiGranularNodeParser\(embed_metadata=\["product"\]\)'
        ):
            forgetful.insert(LlamaIndexDocument(text="Other.", metadata={"product": "Plover 5"}))
        splitter = VectorStoreIndex.from_vector_store(
            again, embed_model=MODEL, transformations=[SentenceSplitter()]
        )
        splitter.insert(
            LlamaIndexDocument(text="Of the framework.", metadata={"product": "Plover 5"})
        )
        with pytest.raises(InvalidInputError, match="use one of them"):
            again.add([*made(KEYS), *made(["product", "file_name"])])
    with pytest.raises(EncoderMismatchError, match="embed_metadata"):
        in_llama_index(keys=[], embed_metadata=KEYS)


def made(keys):
    nodes = MultiGranularNodeParser(embed_metadata=keys)(
        [LlamaIndexDocument(text="A text.", id_=str(keys))]
    )
    for node in nodes:
        node.embedding = [1.0] * 256
    return nodes


def test_a_parser_that_cuts_our_own_nodes_says_what_it_embeds_itself():
    [passage, *_] = MultiGranularNodeParser(embed_metadata=KEYS)(
        [LlamaIndexDocument(text="A b.", metadata={"product": "x"})]
    )
    assert passage.metadata["embed_metadata"] == KEYS
    for node in MultiGranularNodeParser()([passage]):
        assert "embed_metadata" not in node.metadata
        assert "x" not in node.get_content(MetadataMode.EMBED)


def test_wrong_lists_are_refused():
    for keys, message in [
        ("product", "must be a list of keys"),
        ([1], "must be a list of keys"),
        (["title"], "title is always encoded"),
        ([""], "cannot be used"),
        (["a{b"], "cannot be used"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            UnitStore(encoder=HashEncoder(), embed_metadata=keys)
        with pytest.raises(ValueError, match="embed_metadata"):
            MultiGranularNodeParser(embed_metadata=keys)
    assert (
        json.loads(MultiGranularNodeParser(embed_metadata=KEYS).to_json())["embed_metadata"] == KEYS
    )


class SameWords(WordVectors):
    """Words are most similar to themselves."""

    @staticmethod
    def vector(word, marker):
        vector = np.random.default_rng([ord(character) for character in word.lower()]).normal(
            size=64
        )
        return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("granularity", ["passage", "sentence", "proposition"])
@pytest.mark.parametrize("parents", ["passage", "unit", "document"])
def test_a_ranker_of_a_search_reads_the_metadata_and_hits_stay_as_they_are(granularity, parents):
    ranker = AnyGranularityRanker(SameWords())
    with in_langchain() as store:
        options = {"rerank": ranker, "granularity": granularity, "parents": parents}
        for name in PRODUCTS:
            question = f"battery minutes of the {name}"
            best, *others = store.store.search(question, 3, **options)
            assert best.unit.metadata["product"] == name
            plain = store.store.search(question, 9, parents=parents, granularity="mixed")
            for hit in (best, *others):
                assert hit.unit.title == ""
                assert not any(match.unit.title for match in hit.matches)
                assert hit.score < best.score or hit is best
            assert {hit.unit.id for hit in (best, *others)} <= {
                hit.unit.id for hit in plain
            } or parents == "unit"


def test_headings_can_say_the_metadata_as_well():
    document = LangChainDocument(
        "It lasts.", metadata={"title": "Warranty", "product": "Tern 40", "year": 2024}
    )
    [written] = with_headings([document], embed_metadata=["product", "year"])
    assert written.page_content == "Tern 40 — 2024 — Warranty: It lasts."
    [written] = with_headings([document], "{text}", embed_metadata=KEYS)
    assert written.page_content == "Tern 40 — It lasts."
    with pytest.raises(InvalidInputError, match="embed_metadata must be a list"):
        with_headings([document], embed_metadata="product")
