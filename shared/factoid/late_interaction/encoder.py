"""Encode texts with a ColBERT-like model as one vector for each token, with the token's span."""

from __future__ import annotations

import hashlib
import json
import logging
import string
import threading
from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.encode import Vectors, loading, offline_model
from factoid.errors import InvalidInputError
from factoid.sentences import Span
from factoid.store.token_vectors import TokenVectors
from factoid.units import check_text

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

FINER_PROMPT = "query_sentence"
"""Name of the prompt with the marker m'_q in a model trained for finer units (AGRaME, §3.2)."""

_LEAST_TOKENS = 8  # of a window, besides marker and special tokens
_ENDLESS = 10**9  # tokenizers without a limit have a far larger one

logger = logging.getLogger(__name__)


@runtime_checkable
class TokenEncoder(Protocol):
    """Any object that turns texts into token vectors; a cache also needs its `fingerprint`, as in `LateInteractionEncoder`."""

    def encode_query(self, text: str, *, finer: bool = False) -> TokenVectors:
        """Return the token vectors of a query, with the marker m_q, or m'_q to score units finer than a passage."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the token vectors of passages; each word is in some token, unless the model skips it."""
        ...


class LateInteractionEncoder:
    """A Sentence Transformers `MultiVectorEncoder` that also returns the spans of its tokens.

    Passages longer than the model's limit are read in windows that overlap by a quarter; each token's vector comes from the
    window in which it is further from the edge. Tokens that the model does not score, such as punctuation, are left out.

    Queries longer than the width to which a model pads them (32 in ColBERT) are read whole, unless a loaded model was passed;
    then a warning is logged for each query that it cuts.

    Args:
        model: A model name, a local folder, or a loaded `MultiVectorEncoder`: checkpoints of Sentence Transformers, PyLate and
            Stanford's ColBERT. Other checkpoints get a random projection and rank by chance, unless `projection` is
            False.
        device: For example "cpu" or "cuda"; None lets Sentence Transformers choose.
        batch_size: Windows in one forward pass.
        max_tokens: Maximum length of a window, with marker and special tokens; None for the length that the model was trained on.
        projection: False uses the normalised hidden states of a sentence encoder, such as all-MiniLM-L6-v2; model=None is then
            the default of `SentenceTransformerEncoder`, which needs no download.
        show_progress: Show progress bars while loading and encoding.

    Raises:
        MissingDependencyError: On first use, if Sentence Transformers is absent.
        InvalidInputError: The model does not fit `projection`; or, on first use, the model cannot read `max_tokens`, has no fast
            tokenizer, or pools its tokens.
    """

    def __init__(
        self,
        model: str | PathLike[str] | MultiVectorEncoder | None,
        *,
        device: str | None = None,
        batch_size: int = 32,
        max_tokens: int | None = None,
        projection: bool = True,
        show_progress: bool = False,
    ) -> None:
        if model is None if projection else not isinstance(model, str | PathLike | None):
            raise InvalidInputError(
                "expected the name or folder of a model, or a loaded MultiVectorEncoder, and with projection=False a name, a "
                f"folder or None, got {type(model).__name__} with projection={projection}"
            )
        self.device = device
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.show_progress = show_progress
        self.projection = projection
        self._source = fspath(model) if isinstance(model, PathLike) else model
        self._loaded: Any = None
        self._fingerprint: str | None = None
        self._lock = threading.RLock()  # fast tokenizers cannot be used by two threads at once

    def has_finer_marker(self) -> bool:
        """Return whether the model has a marker m'_q; without it, both kinds of query vectors are equal."""
        return FINER_PROMPT in self._model().prompts

    def encode_query(self, text: str, *, finer: bool = False) -> TokenVectors:
        """Return the token vectors of a query, marked with m'_q if `finer` is set and the model has that marker.

        A model trained without it does best with m_q for both (Table 5).
        """
        check_text(text, "query")
        with self._lock:
            model = self._model()
            name = FINER_PROMPT if finer and self.has_finer_marker() else "query"
            prompt = model.prompts.get(name) or ""
            [features] = model.encode_query([text], prompt=prompt, **self._options())
        vectors, spans, mask = _tokens(features, prompt, text)
        end = int(spans[:, 1].max(initial=0))
        if text[end:].strip():
            logger.warning("the model reads only the first %d characters of the query %.80r", end, text)
        return TokenVectors(vectors[mask], spans[mask])

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the token vectors of passages, in order."""
        for text in texts:
            check_text(text, "passage")
        with self._lock:
            model = self._model()
            prompt = model.prompts.get("document") or ""
            limit = self._limit(model)
            budget = limit - len(model.tokenizer(prompt)["input_ids"]) if limit else 0
            if limit and budget < _LEAST_TOKENS:
                raise InvalidInputError(
                    f"max_tokens must leave at least {_LEAST_TOKENS} tokens beside marker and special tokens, got {limit}"
                )
            windows = [_windows(text, model.tokenizer, budget) for text in texts]
            parts = [text[start:end] for text, cuts in zip(texts, windows, strict=True) for start, end, _ in cuts]
            size = {"max_length": limit} if limit else {}
            encoded = model.encode_document(parts, prompt=prompt, **self._options(**size)) if parts else []
        features = iter(encoded)
        return [
            _merged([(*_tokens(next(features), prompt, text[start:end]), start, cut) for start, end, cut in cuts])
            for text, cuts in zip(texts, windows, strict=True)
        ]

    def fingerprint(self) -> str:
        """Return a digest of everything that passage vectors depend on: weights, tokenizer, prompt, settings, limit.

        The model's name is not part of it, since a folder may later hold another model. The first call takes about a second for
        each gigabyte of weights.
        """
        with self._lock:
            if self._fingerprint is None:
                model = self._model()
                digest = hashlib.blake2b(digest_size=16)
                tokenizer = json.loads(model.tokenizer.backend_tokenizer.to_str())
                settings = [module.get_config_dict() for module in model if hasattr(module, "get_config_dict")]
                # Truncation and padding are those of the latest call.
                parts = [tokenizer | {"truncation": None, "padding": None}, settings, model.prompts.get("document")]
                digest.update(json.dumps([*parts, self._limit(model)], sort_keys=True, default=str).encode())
                for name, weights in sorted(model.state_dict().items()):
                    digest.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
                    flat = weights.detach().cpu().contiguous().reshape(-1)
                    digest.update(flat.view(require("torch", extra="models").uint8).numpy())
                self._fingerprint = digest.hexdigest()
            return self._fingerprint

    def _options(self, **tokenizing: Any) -> dict[str, Any]:
        return {
            "output_value": None,  # all features of each token, not only the vectors
            "processing_kwargs": {"text": {"return_offsets_mapping": True, **tokenizing}},
            "batch_size": self.batch_size,
            "show_progress_bar": self.show_progress,
        }

    def _limit(self, model: Any) -> int | None:
        most = model.max_seq_length if (model.max_seq_length or 0) <= _ENDLESS else None
        if self.max_tokens is not None and most is not None and self.max_tokens > most:
            raise InvalidInputError(
                f"max_tokens must be at most {most}, what this model can read, got {self.max_tokens}"
            )
        return self.max_tokens or getattr(model[0], "document_length", None) or most

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                library = require("sentence_transformers", extra="models")
                model: Any = self._source
                with loading("late-interaction model", self._source, show_progress=self.show_progress):
                    if not self.projection:
                        name = offline_model() if model is None else model
                        transformer = library.SentenceTransformer(name, device=self.device)[0]
                        model = build_model(transformer, device=self.device)
                    elif isinstance(model, str):
                        model = library.MultiVectorEncoder(model, device=self.device)
                        expansion = getattr(model[0], "query_expansion", None)
                        if expansion and expansion["strategy"] == "fixed":
                            model[0].query_expansion = {**expansion, "strategy": "min"}
                if not getattr(model.tokenizer, "is_fast", False):
                    raise InvalidInputError(
                        f"the tokenizer of {self._source!r:.60} does not return the places of tokens: expected a fast one"
                    )
                self._loaded = model
            return self._loaded


def build_model(transformer: Any, *layers: Any, device: str | None) -> Any:
    """Return a `MultiVectorEncoder` of hidden states after some layers: vectors of length 1, none of punctuation (ColBERT)."""
    library = require("sentence_transformers", extra="models")
    modules = require("sentence_transformers.multi_vector_encoder.modules", extra="models")
    mask = modules.MultiVectorMask(skiplist_words=list(string.punctuation))
    normalize = library.base.modules.Normalize(module_input_name="token_embeddings")
    return library.MultiVectorEncoder(modules=[transformer, *layers, mask, normalize], device=device)


def _tokens(features: Any, prompt: str, text: str) -> tuple[Vectors, NDArray[np.int64], NDArray[np.bool_]]:
    """Return vectors and spans of all tokens of a text, and which of them are scored."""
    vectors = features["token_embeddings"].float().cpu().numpy()
    offsets = features["offset_mapping"].cpu().numpy()
    if len(offsets) > len(vectors):
        raise InvalidInputError(
            "the model pools its token vectors, so that they have no place in the text: remove its token pooling"
        )
    spans = np.zeros((len(vectors), 2), np.int64)  # the [MASK]s after a query have no offsets
    for place, (start, end) in enumerate(np.clip(offsets - len(prompt), 0, len(text)).tolist()):
        part = text[start:end]
        if part.strip():  # some tokenizers count the space before a word
            spans[place] = end - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
    return vectors, spans, features["attention_mask"].bool().cpu().numpy()


Window = tuple[int, int, int]  # start, end, and where the next window takes over


def _windows(text: str, tokenizer: Any, budget: int) -> list[Window]:
    """Return stretches of a text of at most `budget` tokens (0: no limit), cut between words where possible."""
    tokens = _offsets(text, tokenizer) if budget else []

    def bounds(first: int, last: int) -> Span:
        return tokens[first][0] if first else 0, tokens[last - 1][1] if last < len(tokens) else len(text)

    def fits(first: int, last: int) -> bool:
        if last - first > budget or (first, last) == (0, len(tokens)):
            return last - first <= budget
        # A stretch cut within a word may have more tokens on its own.
        return len(_offsets(text[slice(*bounds(first, last))], tokenizer)) <= budget

    first, windows = 0, []
    while not fits(first, len(tokens)):
        last = _between_words(tokens, first + min(budget, len(tokens) - first - 1), budget // 8)
        while last > first + 1 and not fits(first, last):
            last -= 1
        following = max(first + 1, _between_words(tokens, last - budget // 4, budget // 8))
        cut = _between_words(tokens, (following + last) // 2, (last - following) // 2)
        windows.append((*bounds(first, last), tokens[cut][0]))
        first = following
    return [*windows, (*bounds(first, len(tokens)), len(text))]


def _between_words(tokens: Sequence[Span], place: int, reach: int) -> int:
    """Return the nearest token before a place that begins a word, or the place itself if there is none within reach."""
    starts = range(place, max(place - reach, 1), -1)
    return next((at for at in starts if tokens[at - 1][1] < tokens[at][0]), place)


def _offsets(text: str, tokenizer: Any) -> list[Span]:
    encoded = tokenizer(
        text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, padding=False, verbose=False
    )
    offsets: list[Span] = encoded["offset_mapping"]
    return offsets


def _merged(parts: Sequence[tuple[Vectors, NDArray[np.int64], NDArray[np.bool_], int, int]]) -> TokenVectors:
    """Merge windows into one text: each token from one window, special tokens from all."""
    vectors, spans, begin = [], [], 0
    for rows, places, mask, start, cut in parts:
        is_text = places[:, 1] > 0
        moved = np.where(is_text[:, None], places + start, 0)
        scored = mask & (~is_text | ((moved[:, 0] < cut) & (moved[:, 1] > begin)))
        vectors.append(rows[scored])
        spans.append(moved[scored])
        begin = cut
    return TokenVectors(np.concatenate(vectors), np.concatenate(spans), len(parts))
