from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from factoid import Unit
from factoid.testing import HashEncoder, ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, TITAN


class HashEmbeddings(Embeddings):
    """Counts its calls; texts that share words are near each other."""

    def __init__(self, dim: int = 256) -> None:
        self.model = f"hash-{dim}"
        self._encoder = HashEncoder(dim)
        self.embedded: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return self._encoder.encode_units(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return self._encoder.encode_queries([text])[0].tolist()


def clauses(passage: Unit) -> Sequence[str]:
    """The passage as it stands and its clauses: a propositionizer that really splits."""
    parts = passage.text.replace(" and ", ". ").split(". ")
    return [passage.text, *(part.strip(" .") + "." for part in parts)]


class Gate:
    """Stops a thread until the event loop of the test, which must be free for it, lets it go on."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def open_soon(self) -> None:
        asyncio.get_running_loop().call_later(0.05, self._open.set)

    def pass_through(self) -> None:
        assert self._open.wait(timeout=10), "the event loop was blocked"


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def embedding() -> HashEmbeddings:
    return HashEmbeddings()


@pytest.fixture
def propositionizer() -> ScriptedPropositionizer:
    return ScriptedPropositionizer(clauses)


@pytest.fixture(params=["memory", "disk"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "memory" else tmp_path / "store"


@pytest.fixture
def store(
    embedding: HashEmbeddings, propositionizer: ScriptedPropositionizer, path: Path | None
) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(embedding, propositionizer=propositionizer, path=path) as store:
        yield store


@pytest.fixture
def filled(store: MultiGranularFAISS) -> MultiGranularFAISS:
    store.add_documents([KAKAPO, OLM, TITAN])
    return store
