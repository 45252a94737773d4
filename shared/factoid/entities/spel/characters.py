"""Typographic characters as plain ones, each for one, so that spans stay what they are."""

from __future__ import annotations

_QUOTES = dict.fromkeys("‘’‚‛′`´ʼ", "'") | dict.fromkeys("“”„‟″«»", '"')
_DASHES = dict.fromkeys("‐‑‒–—―−", "-")
_STOPS = dict.fromkeys("…•‣·", ".")
_LETTERS = dict(zip("áéíóúñöü", "aeiounou", strict=True))
_SPACES = dict.fromkeys("\u00a0\u202f\u2007\ufeff\u200b\u3000、。「」『』【】《》", " ")
_PLAIN = str.maketrans(_QUOTES | _DASHES | _STOPS | _LETTERS | _SPACES)


def plain_characters(text: str) -> str:
    """Return a text of the same length with plain quotes, dashes, stops and spaces, and some letters without accents."""
    return text.translate(_PLAIN)
