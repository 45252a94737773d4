"""Texts that are units already: they are found like any others."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document

from factoid import Granularity, Unit, UnitStore
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder
from langchain_factoid import (
    LangChainEncoder,
    EncoderEmbeddings,
    MultiGranularFAISS,
    MultiGranularRetriever,
    PropositionTextSplitter,
)

CAT = "The office cat is called Maurice."
LEANS = Document("The tower leans. It is of stone.", id="tower")
EMBEDDINGS = EncoderEmbeddings(HashEncoder())


@pytest.mark.parametrize("granularity", [None, "passage", "sentence", "proposition", "mixed"])
@pytest.mark.parametrize(
    "text", [CAT, "Maurice", "# Maurice", "| cat | Maurice |", "cat: Maurice\n---\n"]
)
def test_whatever_text_is_added_is_found(text, granularity):
    with MultiGranularFAISS(EMBEDDINGS, parents="passage", granularities=GRANULARITIES) as store:
        store.add_documents([LEANS])
        store.add_texts([text])
        found = store.similarity_search("Maurice", k=2, granularity=granularity)
        assert len(found) == 2
        assert "Maurice" in found[0].page_content


def test_chunks_of_our_splitters_are_found():
    chunks = PropositionTextSplitter().split_documents([LEANS])
    with MultiGranularFAISS(EMBEDDINGS, granularities=GRANULARITIES) as store:
        store.add_texts([chunk.page_content for chunk in chunks])
        assert len(store.similarity_search("tower", k=9)) == len(chunks) == 2


def test_passages_of_another_front_end_are_found_beside_documents(tmp_path):
    passage = Unit("cat", CAT, Granularity.PASSAGE, "doc", "doc", 0, len(CAT))
    with UnitStore(
        tmp_path / "store", encoder=LangChainEncoder(EMBEDDINGS), granularities=GRANULARITIES
    ) as core:
        core.add([passage])
    with MultiGranularFAISS(
        EMBEDDINGS, path=tmp_path / "store", granularities=GRANULARITIES, parents="passage"
    ) as store:
        store.add_documents([LEANS])
        retriever = MultiGranularRetriever(store=store, k=2)
        assert [document.page_content for document in retriever.invoke("cat")] == [
            CAT,
            LEANS.page_content,
        ]
