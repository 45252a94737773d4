"""Rules that clean the text of a paragraph, character by character: each returns the edits that it would make."""

from __future__ import annotations

import re

from factoid.documents.trace import Edit

_INVISIBLE = re.compile("\u00ad[^\\S\n]*\n\\s*|[\u00ad\u200b\u2060\ufeff]")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURE = re.compile("[ﬀ-ﬆ]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_BLOCK_MARK = re.compile(
    r"^[ \t]*\\(?:#{1,6}\s|[`~]{3}|\|)", re.MULTILINE
)  # a heading, a fence or a table without its escape
_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*+\n\s*+")
_SPACES = re.compile(r"(?<=\S)(?:[ \t\u00a0\u2009\u202f]{2,}|[\u00a0\u2009\u202f])(?=\S)")
_BULLET = re.compile(r"[·•‣▪●◦?]\s+(?=\S)")
_SUPERSCRIPT = re.compile(
    r"[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[,⁻][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*|<sup>[^<>\w]{0,3}\d{0,3}[^<>\w]{0,3}</sup>", re.IGNORECASE
)
_DAGGERS = re.compile(r"(?<=[\w.,;:)\"”])[†‡]+(?=[\s.,;:)]|\Z)|(?:(?<=\s)|\A)[†‡]+\s?(?=\w)")
_AUTHOR_MARKS = re.compile(
    r"(?<!\s)\s*+(?<![\w*^†‡§¶])[*^†‡§¶]++(?=\s|[.,;]|\Z)|(?<=\w)[*^†‡§¶]++(?=[\s,;.]|\Z)|(?:(?<=\s)|\A)[*^†‡§¶]++\s?(?=\w)"
)
_UNIT_OF_POWER = re.compile(r"(?:\A|[^\w])(?:[a-zµ]{0,2}m|ft|in|yd|mi|s|[A-Za-zχσ])\Z")


def soft_hyphens(text: str) -> list[Edit]:
    """Take out soft hyphens, with the line end behind them, and characters without width."""
    return [(*match.span(), "") for match in _INVISIBLE.finditer(text)]


def ligatures(text: str) -> list[Edit]:
    """Write ligatures as letters."""
    return [(*match.span(), _LIGATURES[match[0]]) for match in _LIGATURE.finditer(text)]


def escapes(text: str) -> list[Edit]:
    r"""Take out the backslashes of Markdown, as in "1\."; one that keeps a line from being a heading or a table stays."""
    guarded = {match.start() + match[0].index("\\") for match in _BLOCK_MARK.finditer(text)}
    return [(match.start(), match.start() + 1, "") for match in _ESCAPE.finditer(text) if match.start() not in guarded]


def line_breaks(text: str) -> list[Edit]:
    """Write the lines of a paragraph as one."""
    return [(*match.span(), " ") for match in _LINE_BREAK.finditer(text)]


def spaces(text: str) -> list[Edit]:
    """Write one blank for several, for a non-breaking one and for a thin one."""
    return [(*match.span(), " ") for match in _SPACES.finditer(text)]


def bullets(text: str) -> list[Edit]:
    """Write "- " for the bullet that a paragraph begins with; "?" is one that a console could not show."""
    match = _BULLET.match(text)
    return [(*match.span(), "- ")] if match else []


def footnote_marks(text: str) -> list[Edit]:
    """Take out raised numbers and daggers behind words; those of powers, as in "m²" and "R²", stay."""
    edits: list[Edit] = []
    for match in _SUPERSCRIPT.finditer(text):
        before = text[max(0, match.start() - 4) : match.start()]
        if before[-1:].isspace() or before[-1:].isdigit() or not before:
            continue
        if match[0] not in "²³" or not _UNIT_OF_POWER.search(before):
            edits.append((*match.span(), ""))
    return edits + [(*match.span(), "") for match in _DAGGERS.finditer(text)]


def author_marks(text: str) -> list[Edit]:
    """Take out all marks that tie names to notes, as in "A. Smith*†", in front matter and at the beginning of notes."""
    return [(*match.span(), "") for match in _AUTHOR_MARKS.finditer(text)]
