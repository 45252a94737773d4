"""LangChain embeddings as an encoder of the core, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.embeddings import Embeddings

from factoid.framework import (
    Encoder,
    InvalidInputError,
    Vectors,
    check_list,
    portable_name,
    to_matrix,
)

# Where LangChain's integrations keep the name of their model.
_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name", "repo_id")


class LangChainEncoder:
    """Wraps any LangChain `Embeddings` as a factoid `Encoder`; units go through `embed_documents`.

    A store recognizes its encoder by `name`: pass the name that another front end gave to the same
    weights, such as "BAAI/bge-small-en". None is class and model name, without a cache around the
    embeddings; a model in a local folder is named by its weights, wherever the folder lies.

    Raises:
        InvalidInputError: The object is not LangChain embeddings.
    """

    def __init__(self, embeddings: Embeddings, *, name: str | None = None) -> None:
        if not (hasattr(embeddings, "embed_documents") and hasattr(embeddings, "embed_query")):
            raise InvalidInputError(
                "expected Embeddings or EncoderEmbeddings(encoder), got "
                f"{type(embeddings).__name__}"
            )
        self.embeddings = embeddings
        # as CacheBackedEmbeddings has it
        inner = getattr(embeddings, "underlying_embeddings", embeddings)
        model = portable_name(model_name(inner))
        # An encoder of the core that comes back as itself keeps its name, so that all front ends
        # share a store.
        if not isinstance(inner, EncoderEmbeddings):
            model = f"{type(inner).__name__}({model})"
        self.name = name or model

    @property
    def wrapped(self) -> Encoder | None:
        """The encoder of the core that the embeddings wrap, if they do."""
        inner = getattr(self.embeddings, "underlying_embeddings", self.embeddings)
        if isinstance(inner, EncoderEmbeddings):
            return inner.encoder
        return None

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of queries. Shape: (len(texts), dim)."""
        return to_matrix(list(map(self.embeddings.embed_query, texts)), len(texts))

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of units. Shape: (len(texts), dim)."""
        embedded: list[list[float]] = []
        if texts:
            embedded = self.embeddings.embed_documents(list(texts))
        return to_matrix(embedded, len(texts))

    async def aencode_units(self, texts: Sequence[str]) -> Vectors:
        """Do the same as `encode_units`, without blocking the event loop."""
        embedded: list[list[float]] = []
        if texts:
            embedded = await self.embeddings.aembed_documents(list(texts))
        return to_matrix(embedded, len(texts))


class EncoderEmbeddings(Embeddings):
    """Wraps any factoid `Encoder` as LangChain `Embeddings`.

    Its `model` is the encoder's name, by which a store recognizes it.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.model = str(getattr(encoder, "name", type(encoder).__qualname__))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of units."""
        check_list(texts, "texts")
        return self.encoder.encode_units(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.encoder.encode_queries([text])[0].tolist()  # type: ignore[no-any-return]


def model_name(model: object) -> str:
    """Return the name of the model behind an embeddings or a chat model of LangChain's, or ""."""
    names = (getattr(model, field, None) for field in _MODEL_NAMES)
    return next((name for name in names if isinstance(name, str) and name), "")
