"""A deterministic embedding model, and a small store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_index.core.schema import TextNode

from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
)
from tests.llama_index.nodes import by_sentence, corpus


@pytest.fixture
def embed_model() -> EncoderEmbedding:
    return EncoderEmbedding(HashEncoder())


@pytest.fixture
def script() -> ScriptedPropositionizer:
    return by_sentence()


@pytest.fixture
def parser(script: ScriptedPropositionizer) -> MultiGranularNodeParser:
    return MultiGranularNodeParser(script, granularities=GRANULARITIES)


@pytest.fixture
def nodes() -> list[TextNode]:
    return corpus()


@pytest.fixture
def store(nodes: list[TextNode]) -> Iterator[MultiGranularFaissVectorStore]:
    filled = MultiGranularFaissVectorStore()
    filled.add(nodes)
    yield filled
    filled.close()
