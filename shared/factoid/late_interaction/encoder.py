"""Encode texts with a ColBERT-like model as one vector for each token, with the token's span."""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Sequence
from copy import copy
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.encode import Vectors, loading, offline_model
from factoid.errors import InvalidInputError
from factoid.forks import Exclusion, at_work
from factoid.sentences import Span
from factoid.store.token_cache import TokenVectors
from factoid.units import check_text

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

FINER_PROMPT = "query_sentence"
"""Name of the prompt with the marker m'_q in a model trained for finer units (AGRaME, §3.2)."""

_SPARE = 8  # tokens of a window left free, since a text that is cut within a word may have more
_ENDLESS = 10**6  # tokens; models without a limit report a far larger one


@runtime_checkable
class TokenEncoder(Protocol):
    """Any object that turns texts into token vectors.

    A cache also needs its `fingerprint`, as in `LateInteractionEncoder`.
    """

    def encode_query(self, text: str, *, finer: bool = False) -> TokenVectors:
        """Return the token vectors of a query, with the marker m_q.

        It is m'_q to score units finer than a passage.
        """
        ...

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the token vectors of passages.

        Each word is in some token, unless the model skips it.
        """
        ...


class LateInteractionEncoder:
    """A Sentence Transformers `MultiVectorEncoder` that also returns the spans of its tokens.

    Passages longer than the model's limit are read in windows that overlap by a quarter; each
    token's vector comes from the window in which it is further from the edge. Tokens that the model
    does not score, such as punctuation, are left out.

    Queries longer than the width to which a model pads them (32 in ColBERT) are read whole, unless
    a loaded model was passed.

    Args:
        model: A model name, a local folder, or a loaded `MultiVectorEncoder`: checkpoints of
            Sentence Transformers, PyLate and Stanford's ColBERT. Other checkpoints get a random
            projection and rank by chance, unless `projection` is False. None for the default of
            `SentenceTransformerEncoder`, without a projection.
        device: For example "cpu" or "cuda"; None lets Sentence Transformers choose.
        batch_size: Windows in one forward pass.
        max_tokens: Maximum length of a window, with marker and special tokens; None for the length
            that the model was trained on. A model never reads more than it can.
        finer_marker: False ranks finer units with the query under m_q, even if the model has a
            marker m'_q, as in setting A2 of Table 5.
        projection: False uses the normalised hidden states of a sentence encoder, such as
            all-MiniLM-L6-v2.

    Raises:
        MissingDependencyError: On first use, if Sentence Transformers is absent.
        InvalidInputError: On first use, if the model cannot be loaded or `max_tokens` is too small.
    """

    def __init__(
        self,
        model: str | PathLike[str] | MultiVectorEncoder | None,
        *,
        device: str | None = None,
        batch_size: int = 32,
        max_tokens: int | None = None,
        finer_marker: bool = True,
        projection: bool = True,
    ) -> None:
        self.device = device
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.finer_marker = finer_marker
        self.projection = projection and model is not None
        self._source = fspath(model) if isinstance(model, PathLike) else model
        self._loaded: Any = None
        self._fingerprint: str | None = None
        self._alone = Exclusion()  # fast tokenizers cannot be used by two threads at once

    def has_finer_marker(self) -> bool:
        """Return whether the model has a marker m'_q, and it is used.

        Without it, both kinds of query vectors are equal.
        """
        return self.finer_marker and FINER_PROMPT in self._model().prompts

    def with_one_marker(self) -> LateInteractionEncoder:
        """Return this encoder with the query under m_q for finer units, too.

        It shares the model, if that is loaded.
        """
        other = copy(self)
        other.finer_marker = False
        return other

    def encode_query(self, text: str, *, finer: bool = False) -> TokenVectors:
        """Return the token vectors of a query.

        It is marked with m'_q if `finer` is set and the model has that marker. A model trained
        without it does best with m_q for both (Table 5).
        """
        check_text(text, "query")
        with at_work(), self._alone.lock:
            model = self._model()
            name = FINER_PROMPT if finer and self.has_finer_marker() else "query"
            prompt = model.prompts.get(name) or ""
            [features] = model.encode_query([text], prompt=prompt, **self._options())
        vectors, spans, mask = _tokens(features, prompt, text)
        return TokenVectors(vectors[mask], spans[mask])

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the token vectors of passages, in order."""
        for text in texts:
            check_text(text, "passage")
        with at_work(), self._alone.lock:
            model = self._model()
            prompt = model.prompts.get("document") or ""
            limit = self._limit(model)
            budget = limit - len(model.tokenizer(prompt)["input_ids"])
            if budget < 2 * _SPARE:
                raise InvalidInputError(
                    f"max_tokens must leave at least {2 * _SPARE} tokens beside marker and "
                    f"special tokens, got {limit}"
                )
            windows = [_windows(text, model.tokenizer, budget) for text in texts]
            parts: list[str] = []
            for text, cuts in zip(texts, windows, strict=True):
                parts += [text[start:end] for start, end, _ in cuts]
            encoded = []
            if parts:
                options = self._options(max_length=limit)
                encoded = model.encode_document(parts, prompt=prompt, **options)
        features = iter(encoded)
        merged = []
        for text, cuts in zip(texts, windows, strict=True):
            pieces = []
            for start, end, cut in cuts:
                tokens = _tokens(next(features), prompt, text[start:end])
                pieces.append((*tokens, start, cut))
            merged.append(_merged(pieces))
        return merged

    def fingerprint(self) -> str:
        """Return a digest of everything that passage vectors depend on.

        Weights, tokenizer, prompt, settings, limit. The model's name is not part of it, since a
        folder may later hold another model. The first call takes about a second for each gigabyte
        of weights.
        """
        with at_work(), self._alone.lock:
            if self._fingerprint is None:
                model = self._model()
                digest = hashlib.blake2b(digest_size=16)
                tokenizer = json.loads(model.tokenizer.backend_tokenizer.to_str())
                settings = []
                for module in model:
                    if hasattr(module, "get_config_dict"):
                        settings.append(module.get_config_dict())
                # Truncation and padding are those of the latest call.
                parts = [
                    tokenizer | {"truncation": None, "padding": None},
                    settings,
                    model.prompts.get("document"),
                ]
                digest.update(
                    json.dumps([*parts, self._limit(model)], sort_keys=True, default=str).encode()
                )
                for name, weights in sorted(model.state_dict().items()):
                    digest.update(name.encode())
                    flat = weights.detach().cpu().contiguous().reshape(-1)
                    digest.update(flat.view(require("torch", extra="models").uint8).numpy())
                self._fingerprint = digest.hexdigest()
            return self._fingerprint

    def _options(self, **tokenizing: Any) -> dict[str, Any]:
        return {
            "output_value": None,  # all features of each token, not only the vectors
            "processing_kwargs": {"text": {"return_offsets_mapping": True, **tokenizing}},
            "batch_size": self.batch_size,
            "show_progress_bar": False,
        }

    def _limit(self, model: Any) -> int:
        """Return the maximum length of a window, with marker and special tokens."""
        most: int = min(model.max_seq_length or _ENDLESS, _ENDLESS)
        return min(self.max_tokens or getattr(model[0], "document_length", None) or most, most)

    def _model(self) -> Any:
        with at_work(), self._alone.lock:
            if self._loaded is None:
                library = require("sentence_transformers", extra="models")
                model: Any = self._source
                with loading("late-interaction model", self._source):
                    if not self.projection:
                        name = offline_model() if model is None else model
                        transformer = library.SentenceTransformer(name, device=self.device)[0]
                        model = build_model(transformer, device=self.device)
                    elif isinstance(model, str):
                        model = library.MultiVectorEncoder(model, device=self.device)
                        expansion = getattr(model[0], "query_expansion", None)
                        if expansion and expansion["strategy"] == "fixed":
                            model[0].query_expansion = {**expansion, "strategy": "min"}
                self._loaded = model
            return self._loaded


def build_model(transformer: Any, *layers: Any, device: str | None) -> Any:
    """Return a `MultiVectorEncoder` of hidden states after some layers.

    Vectors of length 1, none of punctuation (ColBERT).
    """
    library = require("sentence_transformers", extra="models")
    modules = require("sentence_transformers.multi_vector_encoder.modules", extra="models")
    mask = modules.MultiVectorMask(skiplist_words=list(string.punctuation))
    normalize = library.base.modules.Normalize(module_input_name="token_embeddings")
    return library.MultiVectorEncoder(
        modules=[transformer, *layers, mask, normalize], device=device
    )


def _tokens(
    features: Any, prompt: str, text: str
) -> tuple[Vectors, NDArray[np.int64], NDArray[np.bool_]]:
    """Return vectors and spans of all tokens of a text, and which of them are scored."""
    vectors = features["token_embeddings"].float().cpu().numpy()
    offsets = features["offset_mapping"].cpu().numpy()
    spans = np.zeros((len(vectors), 2), np.int64)  # the [MASK]s after a query have no offsets
    for place, (start, end) in enumerate(np.clip(offsets - len(prompt), 0, len(text)).tolist()):
        if part := text[start:end].strip():  # some tokenizers count the space before a word
            start = text.index(part, start)
            spans[place] = start, start + len(part)
    return vectors, spans, features["attention_mask"].bool().cpu().numpy()


Window = tuple[int, int, int]  # start, end, and where the next window takes over


def _windows(text: str, tokenizer: Any, budget: int) -> list[Window]:
    """Return overlapping stretches of a text of at most `budget` tokens."""
    encoded = tokenizer(
        text,
        add_special_tokens=False,
        return_offsets_mapping=True,
        truncation=False,
        padding=False,
        verbose=False,
    )
    tokens: list[Span] = encoded["offset_mapping"]
    if len(tokens) <= budget:
        return [(0, len(text), len(text))]
    size = budget - _SPARE
    overlap = size // 4
    windows = []
    start = 0
    for last in range(size, len(tokens), size - overlap):
        windows.append((start, tokens[last - 1][1], tokens[last - overlap // 2][0]))
        start = tokens[last - overlap][0]
    return [*windows, (start, len(text), len(text))]


def _merged(
    parts: Sequence[tuple[Vectors, NDArray[np.int64], NDArray[np.bool_], int, int]],
) -> TokenVectors:
    """Merge windows into one text: each token from one window, special tokens from all."""
    vectors = []
    spans = []
    begin = 0
    for rows, places, mask, start, cut in parts:
        is_text = places[:, 1] > 0
        moved = np.where(is_text[:, None], places + start, 0)
        scored = mask & (~is_text | ((moved[:, 0] < cut) & (moved[:, 1] > begin)))
        vectors.append(rows[scored])
        spans.append(moved[scored])
        begin = cut
    return TokenVectors(np.concatenate(vectors), np.concatenate(spans), len(parts))
