"""LangChain's record-manager API, `index` and `aindex`, with every way to clean up, against its in-memory store."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_factoid import MultiGranularFAISS


def document(source: str, text: str) -> Document:
    return Document(page_content=text, metadata={"source": source})


# What is indexed, run after run: edited, cut, moved, repeated and left out.
RUNS = [
    [document("a", "The olm has no eyes."), document("a", "It lives in caves."), document("b", "Titan has seas.")],
    [document("a", "The olm has no eyes."), document("a", "It lives in Slovenia."), document("b", "Titan has seas.")],
    [document("a", "The olm has no eyes."), document("a", "The olm has no eyes."), document("c", "Ice floats.")],
    [document("c", "Ice floats on water.")],
    [],
]


def content(store: VectorStore) -> list[tuple[str, Any]]:
    if isinstance(store, InMemoryVectorStore):
        return sorted((entry["text"], entry["metadata"]["source"]) for entry in store.store.values())
    return sorted((found.page_content, found.metadata["source"]) for found in store.similarity_search("it", k=99))


@pytest.mark.parametrize("cleanup", [None, "incremental", "full", "scoped_full"])
@pytest.mark.parametrize("awaited", [False, True])
async def test_every_way_to_clean_up(store: MultiGranularFAISS, cleanup: Any, awaited: bool) -> None:
    reference = InMemoryVectorStore(store.embeddings)
    options: dict[str, Any] = {"cleanup": cleanup, "source_id_key": "source", "key_encoder": "sha256", "batch_size": 2}
    managers = [InMemoryRecordManager(namespace=name) for name in ("own", "reference")]
    for manager in managers:
        manager.create_schema()
    for run in RUNS:
        for again in range(2):
            counts = []
            for manager, destination in zip(managers, (store, reference), strict=True):
                if awaited:
                    counts.append(await aindex(run, manager, destination, **options))
                else:
                    counts.append(index(run, manager, destination, **options))
            assert counts[0] == counts[1]
            if again and cleanup != "full":
                assert counts[0]["num_added"] == 0
            assert content(store) == content(reference)
