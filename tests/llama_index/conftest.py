"""A deterministic embedding model, and warnings of the framework itself."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from factoid.testing import HashEncoder


class HashEmbedding(BaseEmbedding):
    """The core's hash encoder as a LlamaIndex embedding model."""

    _encoder: HashEncoder = PrivateAttr(default_factory=HashEncoder)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**{"model_name": "hash", **fields})

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encoder.encode_queries([query])[0].tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._encoder.encode_units([text])[0].tolist()


@pytest.fixture
def embed_model() -> HashEmbedding:
    return HashEmbedding()
