"""LlamaIndex embedding models as encoders of the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding

from factoid.encode import Vectors


class EmbeddingEncoder:
    """Any LlamaIndex `BaseEmbedding` as a factoid `Encoder`; `UnitStore(encoder=EmbeddingEncoder(...))` takes it.

    Queries and units go through the model's own two sides, `get_query_embedding` and `get_text_embedding_batch`.

    Args:
        embed_model: The model.

    Attributes:
        name: Class and model name, by which a store knows its encoder again.
    """

    def __init__(self, embed_model: BaseEmbedding) -> None:
        self.embed_model = embed_model
        self.name = f"{embed_model.class_name()}({embed_model.model_name})"

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of queries. Shape: (len(texts), dim)."""
        return _matrix([self.embed_model.get_query_embedding(text) for text in texts])

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of units. Shape: (len(texts), dim)."""
        return _matrix(self.embed_model.get_text_embedding_batch(list(texts)))


def _matrix(vectors: Sequence[Sequence[float]]) -> Vectors:
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), -1 if vectors else 0)
