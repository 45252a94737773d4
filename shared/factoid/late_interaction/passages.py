"""The token vectors of passages, from a cache where it has them: the one way by which rankers and citations get them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from factoid.encode import EMBED_TEMPLATE, with_heading
from factoid.errors import InvalidInputError
from factoid.late_interaction.encoder import TokenEncoder, TokenVectors
from factoid.store.token_vectors import StoredTokens, TokenVectorCache
from factoid.units import Unit


def passage_tokens(
    encoder: TokenEncoder,
    passages: Sequence[Unit],
    *,
    template: str = EMBED_TEMPLATE,
    cache: TokenVectorCache | None = None,
) -> list[TokenVectors]:
    """Return the tokens of passages, with spans in characters of the passage's own text; equal texts are encoded once.

    With a cache, vectors are those that it holds, rounded to its dtype on the first call as on all others; the encoder
    gets only what is missing there.

    Args:
        encoder: What encodes them.
        passages: Each is encoded under its title and section.
        template: Ends in {text}; see `factoid.encode.with_heading`.
        cache: Where vectors are kept.

    Raises:
        InvalidInputError: A cache, and an encoder without a `fingerprint`.
        StoreError: The cache cannot be read or written.
    """
    texts = [with_heading(passage, template) for passage in passages]
    bodies = {text: passage.text for text, passage in zip(texts, passages, strict=True)}
    tokens: dict[str, TokenVectors] = {}
    model = ""
    if cache is not None:
        model = _fingerprint(encoder)
        tokens = {text: _vectors(stored) for text, stored in cache.get(model, bodies).items()}
    missing = [text for text in bodies if text not in tokens]
    encoded = dict(zip(missing, encoder.encode_passages(missing) if missing else [], strict=True))
    if cache is not None and missing:
        entries = {text: StoredTokens(new.vectors, new.spans, new.windows) for text, new in encoded.items()}
        rounded = cache.put(model, {text: (bodies[text], stored) for text, stored in entries.items()})
        encoded = {text: _vectors(stored) for text, stored in rounded.items()}
    tokens |= encoded
    return [
        _shifted(tokens[text], len(text) - len(passage.text)) for text, passage in zip(texts, passages, strict=True)
    ]


def _fingerprint(encoder: TokenEncoder) -> str:
    fingerprint = getattr(encoder, "fingerprint", None)
    if not callable(fingerprint):
        message = (
            f"{type(encoder).__name__} has no method `fingerprint`, by which a cache tells its vectors from those of other "
            "models: add one that returns a digest of weights and settings, or leave the cache out"
        )
        raise InvalidInputError(message)
    return str(fingerprint())


def _vectors(stored: StoredTokens) -> TokenVectors:
    return TokenVectors(stored.vectors, stored.spans, stored.windows, stored.bytes)


def _shifted(tokens: TokenVectors, heading: int) -> TokenVectors:
    """Return tokens with spans after a heading; those in the heading stand for no text of the passage."""
    if not heading:
        return tokens
    spans = np.maximum(tokens.spans - heading, 0)
    spans[spans[:, 1] == 0] = 0
    return replace(tokens, spans=spans)
