"""Mentions trimmed and filtered as SpEL's evaluations do it; no part of linking."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import replace

from factoid.entities.mention import Mention

FUNCTION_WORDS = frozenset(
    "a an the this that these those i you he she it we they me him her us them my your his its our their who what which "
    "and or but if as at by for from in of on to with is are was be not".split()
)

_ABBREVIATIONS = ("u.s", "u.n")  # whose full stop belongs to them
_EDGE = string.punctuation + " "


def tidy_mentions(
    text: str, mentions: Iterable[Mention], *, redirects: Mapping[str, str] | None = None
) -> list[Mention]:
    """Return mentions as evaluations compare them: trimmed, without function words, and with canonical titles.

    Args:
        text: The text that was linked.
        mentions: Its mentions.
        redirects: Canonical titles by titles, both with spaces or underscores; followed once.
    """
    kept = []
    for mention in mentions:
        trimmed = _trimmed(text, mention)
        if trimmed is not None:
            kept.append(replace(trimmed, title=canonical(trimmed.title, redirects or {})))
    return kept


def canonical(title: str, redirects: Mapping[str, str]) -> str:
    """Return the title, with spaces, that a title is redirected to, or the title."""
    for form in (title.replace(" ", "_"), title):
        if form in redirects:
            return redirects[form].replace("_", " ")
    return title


def _trimmed(text: str, mention: Mention) -> Mention | None:
    start, end = mention.start, mention.end
    before = None
    while before != (start, end):
        before = start, end
        start, end = _step(text, start, end, mention.title)
        if start >= end:
            return None
    if text[start:end].lower() in FUNCTION_WORDS:
        return None
    return replace(mention, start=start, end=end)


def _step(text: str, start: int, end: int, title: str) -> tuple[int, int]:
    """Return the span after the first rule that changes it; the same span if none does."""
    surface = text[start:end]
    lowered = surface.lower()
    if lowered.endswith("'s") and _in_title(surface[:-2], title) and not _in_title(surface, title):
        return start, end - 2
    if surface and surface[0] in _EDGE:
        return start + 1, end
    if surface and surface[-1] in string.punctuation and not lowered.endswith(tuple(f"{a}." for a in _ABBREVIATIONS)):
        return start, end - 1
    if surface.endswith(" "):
        return start, end - 1
    if lowered.endswith(_ABBREVIATIONS) and text[end : end + 1] == ".":
        return start, end + 1
    return start, end


def _in_title(surface: str, title: str) -> bool:
    """Tell whether all words of a surface are words of a title."""
    words = surface.lower().split()
    return bool(words) and set(words) <= set(title.lower().split())
