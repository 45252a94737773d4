"""LangChain embeddings as an encoder of the core, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from factoid.encode import Encoder, Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError

# Where LangChain's integrations keep the name of their model.
_MODEL_NAMES = ("model", "model_name", "model_id")


class EmbeddingsEncoder:
    """Any LangChain `Embeddings` as a factoid `Encoder`; `UnitStore(encoder=EmbeddingsEncoder(...))` takes it.

    Queries go through `embed_query`, units through `embed_documents`, each distinct text once.

    Args:
        embeddings: The model.

    Attributes:
        name: Class and model name, by which a store knows its encoder again. A cache around the embeddings is no part
            of it.

    Raises:
        InvalidInputError: Not embeddings.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        if not (hasattr(embeddings, "embed_documents") and hasattr(embeddings, "embed_query")):
            own = ": EncoderEmbeddings makes some of an encoder" if hasattr(embeddings, "encode_units") else ""
            message = f"expected LangChain Embeddings, got {type(embeddings).__name__}{own}"
            raise InvalidInputError(message)
        self.embeddings = embeddings
        inner = getattr(embeddings, "underlying_embeddings", embeddings)  # as CacheBackedEmbeddings has it
        models = [getattr(inner, name, None) for name in _MODEL_NAMES]
        model = next((name for name in models if isinstance(name, str) and name), "")
        # An encoder of the core that comes back as itself keeps its name, so that all front ends share a store.
        self.name = model if isinstance(inner, EncoderEmbeddings) else f"{type(inner).__name__}({model})"

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of queries. Shape: (len(texts), dim)."""
        return _matrix([self.embeddings.embed_query(text) for text in texts])

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of units. Shape: (len(texts), dim)."""
        distinct = list(dict.fromkeys(texts))
        return _spread(texts, distinct, self.embeddings.embed_documents(distinct) if distinct else [])

    async def aencode_queries(self, texts: Sequence[str]) -> Vectors:
        """Do as `encode_queries`, without blocking the event loop."""
        return _matrix([await self.embeddings.aembed_query(text) for text in texts])

    async def aencode_units(self, texts: Sequence[str]) -> Vectors:
        """Do as `encode_units`, without blocking the event loop."""
        distinct = list(dict.fromkeys(texts))
        return _spread(texts, distinct, await self.embeddings.aembed_documents(distinct) if distinct else [])


class EncoderEmbeddings(Embeddings):
    """Any factoid `Encoder` as LangChain `Embeddings`, such as `EncoderEmbeddings(SentenceTransformerEncoder())`.

    Args:
        encoder: The encoder.

    Attributes:
        model: The encoder's name, by which a store knows it again.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.model = str(getattr(encoder, "name", type(encoder).__qualname__))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of units."""
        vectors: list[list[float]] = self.encoder.encode_units(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        vector: list[float] = self.encoder.encode_queries([text])[0].tolist()
        return vector


def _spread(texts: Sequence[str], distinct: Sequence[str], vectors: Sequence[Sequence[float]]) -> Vectors:
    """Return the vector of each text, from those of the distinct texts."""
    if len(vectors) != len(distinct):
        message = f"the embeddings returned {len(vectors)} vectors for {len(distinct)} texts: expected one each"
        raise EncoderMismatchError(message)
    place = {text: position for position, text in enumerate(distinct)}
    return _matrix(vectors)[[place[text] for text in texts]]


def _matrix(vectors: Sequence[Sequence[float]]) -> Vectors:
    sizes = {len(vector) for vector in vectors}
    if len(sizes) > 1:
        message = f"the embeddings returned vectors of different dimensions: {sorted(sizes)}"
        raise EncoderMismatchError(message)
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), *sizes or (0,))
