from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest
from langchain_core.embeddings import Embeddings

from factoid import Unit
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, TITAN


class HashEmbeddings(Embeddings):
    """Counts its calls; texts that share words are near each other."""

    def __init__(self, dim: int = 256) -> None:
        self.model = f"hash-{dim}"
        self._encoder = HashEncoder(dim)
        self.embedded: list[str] = []
        self.threads: set[int] = set()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        self.threads.add(threading.get_ident())
        return self._encoder.encode_units(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        self.threads.add(threading.get_ident())
        return self._encoder.encode_queries([text])[0].tolist()


def clauses(passage: Unit) -> Sequence[str]:
    """The passage as it stands and its clauses: a propositionizer that really splits."""
    parts = passage.text.replace(" and ", ". ").split(". ")
    return [passage.text, *(part.strip(" .") + "." for part in parts)]


@pytest.fixture
def embedding() -> HashEmbeddings:
    return HashEmbeddings()


@pytest.fixture
def propositionizer() -> ScriptedPropositionizer:
    return ScriptedPropositionizer(clauses)


@pytest.fixture
def store(
    embedding: HashEmbeddings, propositionizer: ScriptedPropositionizer
) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(
        embedding, propositionizer=propositionizer, granularities=GRANULARITIES
    ) as store:
        yield store


@pytest.fixture
def filled(store: MultiGranularFAISS) -> MultiGranularFAISS:
    store.add_documents([KAKAPO, OLM, TITAN])
    return store
