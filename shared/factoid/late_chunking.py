"""Encode parts of a text with the text around them, in one pass of a model that pools by mean.

This is late chunking (Günther et al., 2024): the model reads the whole text, and the vector of a
part is the mean of the vectors of its tokens. A text beyond the model's limit is read in pieces
that overlap by a quarter; of a token that two of them hold, the one counts in whose middle it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.token_counts import longest_first

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
Span = tuple[int, int]

_OVERLAP = 4  # pieces of a long text share one of so many tokens
_TOKEN = 32  # characters; a piece of a long text has as many for each token that fits
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # as encode_document looks for one


class _Piece(NamedTuple):
    """The tokens of a text, or of a piece of it, without those that stand for no text."""

    whole: Vectors  # of the piece, as the model gives it. Shape: (dim,)
    starts: NDArray[np.int64]  # in characters of the text. Shape: (tokens,)
    ends: NDArray[np.int64]
    vectors: Vectors  # Shape: (tokens, hidden)
    is_full: bool  # whether it has as many tokens as the model reads


def encode_spans(
    model: SentenceTransformer,
    texts: Sequence[str],
    spans: Sequence[Sequence[Span]],
    *,
    batch_size: int,
) -> list[Vectors]:
    """Return the vector of each text, as the model gives it, and those of spans of its characters.

    A span without a token has the vector of its text. Shape of each: (1 + spans, dim).

    Raises:
        InvalidInputError: The model does not pool by mean, or its tokenizer does not say where
            tokens are.
    """
    check_pooling(model)
    order = longest_first(texts, model.tokenizer, model.max_seq_length)
    vectors: list[Vectors] = [np.empty((0, 0), np.float32)] * len(texts)
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        pieces = _read(model, [texts[number] for number in batch])
        pooled = [_means(*pair) for pair in zip(pieces, [spans[n] for n in batch], strict=True)]
        finished = _finished(model, np.concatenate([means for means, _ in pooled]))
        at = 0
        for number, of_text, (means, is_empty) in zip(batch, pieces, pooled, strict=True):
            whole = of_text[0].whole
            of_spans = finished[at : at + len(means)].reshape(len(means), len(whole))
            of_spans[is_empty] = whole
            vectors[number] = np.vstack([whole, of_spans])
            at += len(means)
    return vectors


def check_pooling(model: SentenceTransformer) -> None:
    """Raise InvalidInputError for a model whose vectors are no means of its tokens' vectors."""
    pooling = require("sentence_transformers.sentence_transformer.modules", extra="models").Pooling
    modules = list(model)
    reason = ""
    if len(modules) < 2 or not isinstance(modules[1], pooling):
        reason = "this one does not pool vectors of tokens"
    elif modules[1].pooling_mode != "mean":
        reason = f"this one pools by {modules[1].pooling_mode}"
    elif not getattr(model.tokenizer, "is_fast", False):
        reason = "the tokenizer of this one does not say where tokens are"
    if reason:
        raise InvalidInputError(
            f"late_chunking needs a model that pools by mean: {reason}. Leave late_chunking out, "
            "or take another model"
        )


# -- Tokens --


def _read(model: SentenceTransformer, texts: Sequence[str]) -> list[list[_Piece]]:
    """Return the pieces of each text, the first one as the model reads the text by itself."""
    pieces: list[list[_Piece]] = [[] for _ in texts]
    starts = dict.fromkeys(range(len(texts)), 0)  # of the next piece of each text
    most = _TOKEN * (model.max_seq_length or 0)
    while starts:
        parts = []
        for number, start in starts.items():
            end = len(texts[number])
            if start:
                end = min(end, start + most)
            parts.append(texts[number][start:end])
        read = _encode(model, parts, list(starts.values()))
        following = {}
        for number, piece in zip(starts, read, strict=True):
            earlier = pieces[number]
            is_new = not earlier or _end(piece) > _end(earlier[-1])
            if is_new:
                earlier.append(piece)
                start = _next_start(texts[number], piece)
                if start > starts[number]:
                    following[number] = start
        starts = following
    return pieces


def _encode(
    model: SentenceTransformer, texts: Sequence[str], starts: Sequence[int]
) -> list[_Piece]:
    """Encode texts that begin at these characters of larger ones."""
    before = len(_document_prompt(model))
    pieces = []
    for start, features in zip(
        starts,
        model.encode_document(
            list(texts),
            output_value=None,  # all features of a text
            batch_size=len(texts),
            show_progress_bar=False,
            processing_kwargs={"text": {"return_offsets_mapping": True}},
        ),
        strict=True,
    ):
        offsets = features["offset_mapping"].cpu().numpy() - before
        is_text = (offsets[:, 1] > offsets[:, 0]) & (offsets[:, 1] > 0)
        count = int(features["attention_mask"].sum())
        pieces.append(
            _Piece(
                features["sentence_embedding"].float().cpu().numpy(),
                np.maximum(offsets[is_text, 0], 0) + start,
                offsets[is_text, 1] + start,
                features["token_embeddings"].float().cpu().numpy()[is_text],
                model.max_seq_length is not None and count >= model.max_seq_length,
            )
        )
    return pieces


def _document_prompt(model: SentenceTransformer) -> str:
    """Return what encode_document writes before a text."""
    for name in (*_DOCUMENT_PROMPTS, model.default_prompt_name):
        if name is not None and name in model.prompts:
            return model.prompts[name] or ""
    return ""


def _end(piece: _Piece) -> int:
    """Return the end of what the model has read."""
    return int(piece.ends.max(initial=0))


def _next_start(text: str, piece: _Piece) -> int:
    """Return where the piece after this one begins; 0 if there is none."""
    if not piece.is_full or not text[_end(piece) :].strip():
        return 0
    shared = piece.starts[-max(1, len(piece.starts) // _OVERLAP) :].tolist()
    for start in shared:
        if text[start - 1 : start].isspace():
            return int(start)
    return int(shared[0])


# -- Vectors --


def _means(pieces: Sequence[_Piece], spans: Sequence[Span]) -> tuple[Vectors, NDArray[np.bool_]]:
    """Return the mean vector of the tokens in each span, and which spans have no token.

    Shapes: (spans, hidden), (spans,).
    """
    # Of two pieces that overlap, the first one counts up to the middle of what they share.
    bounds = [0]
    for piece, following in pairwise(pieces):
        bounds.append((_end(piece) + int(following.starts[0])) // 2)
    bounds.append(max(map(_end, pieces)) + 1)
    starts, ends, vectors = [], [], []
    for piece, (lower, upper) in zip(pieces, pairwise(bounds), strict=True):
        counts = (piece.starts >= lower) & (piece.starts < upper)
        starts.append(piece.starts[counts])
        ends.append(piece.ends[counts])
        vectors.append(piece.vectors[counts])
    edges = np.array(spans, np.int64).reshape(len(spans), 2)
    inside = np.concatenate(starts) < edges[:, 1:]
    inside &= np.concatenate(ends) > edges[:, :1]
    sums = inside.astype(np.float32) @ np.concatenate(vectors)
    tokens = inside.sum(axis=1)
    return sums / np.maximum(tokens, 1)[:, None].astype(np.float32), tokens == 0


def _finished(model: SentenceTransformer, means: Vectors) -> Vectors:
    """Return means after what the model does with them, such as to bring them to unit length."""
    torch = require("torch", extra="models")
    features: dict[str, Any] = {"sentence_embedding": torch.from_numpy(means).to(model.device)}
    with torch.inference_mode():
        for module in list(model)[2:]:
            features = module(features)
    vectors = features["sentence_embedding"].float().cpu().numpy()
    return np.asarray(vectors[:, : model.truncate_dim], np.float32)
