"""LlamaIndex embedding models as encoders of the core, and the other way round."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from factoid.framework import (
    Encoder,
    Progress,
    Vectors,
    check_list,
    portable_name,
    progress_bar,
    to_matrix,
)

_BATCHES = 10  # between two looks at the progress
# texts of which an `EncoderEmbedding` keeps the vectors: equal ones of a document come in a row
_LATEST = 1000


class LlamaIndexEncoder:
    """Wraps any LlamaIndex `BaseEmbedding` as a factoid `Encoder`.

    Queries go through the model's `get_query_embedding`, units through `get_text_embedding_batch`.

    A store recognizes its encoder by `name`: pass the name that another front end gave to the same
    weights. None is class and model name; a model in a local folder is named by its weights,
    wherever the folder lies.
    """

    def __init__(self, embed_model: BaseEmbedding, *, name: str | None = None) -> None:
        self.embed_model = embed_model
        # An encoder of the core that comes back as itself keeps its name, so that all front ends
        # share a store.
        model = portable_name(embed_model.model_name)
        of_core = isinstance(embed_model, EncoderEmbedding)
        if not of_core:
            model = f"{embed_model.class_name()}({model})"
        self.name = name or model

    @property
    def wrapped(self) -> Encoder | None:
        """The encoder of the core that the model wraps, if it does."""
        if isinstance(self.embed_model, EncoderEmbedding):
            return self.embed_model.encoder
        return None

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of queries. Shape: (len(texts), dim)."""
        return to_matrix(list(map(self.embed_model.get_query_embedding, texts)), len(texts))

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of units. Shape: (len(texts), dim)."""
        return to_matrix(self.embed_model.get_text_embedding_batch(list(texts)), len(texts))


class EncoderEmbedding(BaseEmbedding):
    """Wraps any factoid `Encoder` as a LlamaIndex embedding model.

    `EncoderEmbedding(SentenceTransformerEncoder())`. Its `model_name` is the encoder's name.
    Options are fields of `BaseEmbedding`, such as `embed_batch_size`. Equal texts are encoded once,
    such as a sentence that is its own proposition; `EncoderEmbedding(LlamaIndexEncoder(model))`
    does so for any model of LlamaIndex. `progress` is as in `factoid.UnitStore`.
    """

    _encoder: Encoder = PrivateAttr()
    _latest: dict[str, list[float]] = PrivateAttr(default_factory=dict)

    _progress: bool | None = PrivateAttr(default=None)

    def __init__(self, encoder: Encoder, *, progress: bool | None = None, **options: Any) -> None:
        super().__init__(
            model_name=str(getattr(encoder, "name", type(encoder).__qualname__)), **options
        )
        self._encoder = encoder
        self._progress = progress

    @property
    def encoder(self) -> Encoder:
        """The encoder of the core."""
        return self._encoder

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return "EncoderEmbedding"

    def get_text_embedding_batch(
        self, texts: list[str], show_progress: bool = False, **options: Any
    ) -> list[list[float]]:
        """Return the embeddings of texts, and show the progress of long work."""
        check_list(texts, "texts")
        embeddings: list[list[float]] = []
        with self._bar(texts, show_progress) as bar:
            for block in self._blocks(texts):
                embeddings += super().get_text_embedding_batch(block, **options)
                bar.update(len(block))
        return embeddings

    async def aget_text_embedding_batch(
        self, texts: list[str], show_progress: bool = False, **options: Any
    ) -> list[list[float]]:
        """Do the same without blocking the event loop."""
        check_list(texts, "texts")
        embeddings: list[list[float]] = []
        with self._bar(texts, show_progress) as bar:
            for block in self._blocks(texts):
                embeddings += await super().aget_text_embedding_batch(block, **options)
                bar.update(len(block))
        return embeddings

    def _bar(self, texts: list[str], show_progress: bool) -> Progress:
        return progress_bar(
            show=show_progress or self._progress, unit=" texts", total=len(texts), desc="embedding"
        )

    def _blocks(self, texts: list[str]) -> Iterator[list[str]]:
        size = _BATCHES * self.embed_batch_size
        for start in range(0, len(texts), size):
            yield texts[start : start + size]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encoder.encode_queries([query])[0].tolist()  # type: ignore[no-any-return]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        known = dict(self._latest)
        new = []
        for text in dict.fromkeys(texts):
            if text not in known:
                new.append(text)
        if new:
            known |= zip(
                new, to_matrix(self._encoder.encode_units(new), len(new)).tolist(), strict=True
            )
        # Assigned in one step, since several threads may do so.
        self._latest = known if len(known) <= _LATEST else {text: known[text] for text in texts}
        return [list(known[text]) for text in texts]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
