"""Mentions trimmed and filtered as SpEL's evaluations do it; no part of linking."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import replace

from factoid.entities.mention import Mention

# Words that the authors' evaluation drops; it keeps an, it, his, which, not.
_FUNCTION_WORDS = frozenset(
    "a the these those you he she we me them my your our their who what where when here there none and or but if as at by for "
    "in of on out to is was were be has have had th rd 's".split()
)


def tidy_mentions(
    text: str, mentions: Iterable[Mention], *, redirects: Mapping[str, str] | None = None
) -> list[Mention]:
    """Return the mentions of a text as evaluations compare them: trimmed, without function words, and with canonical titles.

    `redirects` are canonical titles by titles, both with spaces or underscores; they are followed once.
    """
    spans = ((mention, *_trim(text, mention)) for mention in mentions)
    return [
        replace(mention, start=start, end=end, title=_canonical(mention.title, redirects or {}))
        for mention, start, end in spans
        if start < end
    ]


def _canonical(title: str, redirects: Mapping[str, str]) -> str:
    """Return the title, with spaces, that a title is redirected to, or the title."""
    return redirects.get(title.replace(" ", "_"), redirects.get(title, title)).replace("_", " ")


def _trim(text: str, mention: Mention) -> tuple[int, int]:
    """Return the span of what the rules, one after the other, leave; an empty one if that is a function word."""
    start, end = mention.start, mention.end
    before = (-1, -1)
    while before != (start, end):
        before = start, end
        surface = text[start:end]
        lowered = surface.lower()
        if lowered.strip() in _FUNCTION_WORDS:  # before a rule takes the apostrophe from "'s"
            return start, start
        title = mention.title
        if lowered.endswith("'s") and _in_title(lowered[:-2], title) and not _in_title(lowered, title):
            end -= 2
        elif surface and surface[0] in string.punctuation + " ":
            start += 1
        elif surface.endswith((" ", *string.punctuation)) and not lowered.endswith(("u.s.", "u.n.")):
            end -= 1
        elif lowered.endswith(("u.s", "u.n")) and text[end : end + 1] == ".":
            end += 1
    return start, end


def _in_title(surface: str, title: str) -> bool:
    """Tell whether all words of a surface are words of a title."""
    words = surface.split()
    return bool(words) and set(words) <= set(title.lower().split())
