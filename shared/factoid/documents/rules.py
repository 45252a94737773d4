"""Rules that clean the text of a paragraph; each returns the edits that it would make."""

from __future__ import annotations

import re
from typing import Any

from factoid.documents.trace import Edit
from factoid.sentences import Span

_INVISIBLE = re.compile("\u00ad[^\\S\n]*\n\\s*|[\u00ad\u200b\u2060\ufeff]")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_LIGATURE = re.compile("[ﬀ-ﬆ]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
# A heading, a fence or a table without its escape.
_BLOCK_MARK = re.compile(r"^[ \t]*\\(?:#{1,6}\s|[`~]{3}|\|)", re.MULTILINE)
DISPLAY = ("$$", "\\[")  # how a formula on lines of its own begins
_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*+\n\s*+")
_QUOTED_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*+\n[\s>]*+")
_CJK = (
    r"\u2e80-\u2fdf\u3000-\u312f\u31a0-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff9f\U00020000-\U0003ffff"
)
# Scripts without spaces between words: Chinese and Japanese, Thai, Lao, Khmer and Burmese.
_UNSPACED = re.compile(rf"[{_CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_VERBATIM = re.compile(
    r"(?<!\\)\$\$(?:(?!\$\$)[^\\]|\\.)++\$\$"
    r"|(?<![\\$\w])\$(?![\s$])(?:\\.|[^$\\])++(?<!\s)\$(?![\d$])"
    r"|\\\((?:(?!\\[()])[^\n])++\\\)|\\\[(?:(?!\\[\[\]]).)++\\\]"
    r"|(?<![`\w])`(?![`\s])[^`]{1,200}(?<!\s)`(?![`\w])",  # not a quote as in `LaTeX'
    re.DOTALL,
)
# "\[3\]" is not a formula, but a citation with escapes.
_MATH = re.compile(r"\\[A-Za-z]|[\^={}+<>]|\A\\\(\s*[A-Za-z]\s*\\\)\Z")
_SPACES = re.compile(r"(?<=\S)(?:[ \t\u00a0\u2009\u202f]{2,}|[\u00a0\u2009\u202f])(?=\S)")
_BULLET = re.compile(r"[·•‣▪●◦?]\s+(?=\S)")
_RAISED = re.compile(r"<(su[bp])>([^<>]{0,20})</su[bp]>|[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ]+(?:,[⁰¹²³⁴⁵⁶⁷⁸⁹]+)*", re.IGNORECASE)
_NOTE = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[,⁻][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*|[^\w+\-−⁺⁻=]{0,3}\d{0,3}(?:[,–]\d{1,3})*[^\w+\-−⁺⁻=]{0,3}")
_BEFORE_NOTE = re.compile(r"(?:[^\W\d_]{4}[)\]]?|[.,;:!?…。！？\"'”’»])\Z")  # "(a + b)²" is a power
_ORDINAL = re.compile(r"st|nd|rd|th")
RAISED: dict[int, Any] = str.maketrans(
    "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδθφχ",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᶿᵠᵡ",
)
LOWERED: dict[int, Any] = str.maketrans(
    "0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ"
)
_DAGGERS = re.compile(r"(?<=[\w.,;:)\"”])[†‡]+(?=[\s.,;:)]|\Z)|(?:(?<=\s)|\A)[†‡]+\s?(?=\w)")
_AUTHOR_MARKS = re.compile(
    r"(?<!\s)\s*+(?<![\w*^†‡§¶])[*^†‡§¶]++(?=\s|[.,;]|\Z)|(?<=\w)[*^†‡§¶]++(?=[\s,;.]|\Z)|(?:(?<=\s)|\A)[*^†‡§¶]++\s?(?=\w)"
)


def soft_hyphens(text: str) -> list[Edit]:
    """Remove soft hyphens, with the line end after them, and zero-width characters."""
    return [(*match.span(), "") for match in _INVISIBLE.finditer(text)]


def ligatures(text: str) -> list[Edit]:
    """Write ligatures as letters."""
    return [(*match.span(), _LIGATURES[match[0]]) for match in _LIGATURE.finditer(text)]


def verbatim(text: str) -> list[Span]:
    r"""Return the spans that stay unchanged: inline code, and formulas in "$…$", "$$…$$", "\(…\)" and "\[…\]".

    The last two must contain mathematical signs.
    """
    matches = _VERBATIM.finditer(text)
    return [match.span() for match in matches if match[0][0] in "$`" or _MATH.search(match[0])]


def escapes(text: str) -> list[Edit]:
    r"""Remove Markdown's backslashes, as in "1\."; one that keeps a line from being a heading or a table stays."""
    guarded = {match.start() + match[0].index("\\") for match in _BLOCK_MARK.finditer(text)}
    return [(match.start(), match.start() + 1, "") for match in _ESCAPE.finditer(text) if match.start() not in guarded]


def line_breaks(text: str) -> list[Edit]:
    """Join the lines of a paragraph or a quote, without a space between characters of scripts that have none.

    A formula of several lines keeps its own.
    """
    displays = [span for span in verbatim(text) if text.startswith(DISPLAY, span[0]) and "\n" in text[slice(*span)]]
    edges = {place for span in displays for place in span}
    edits: list[Edit] = []
    for match in (_QUOTED_LINE_BREAK if text.startswith(">") else _LINE_BREAK).finditer(text):
        start, end = match.span()
        if start in edges or end in edges:
            continue
        unspaced = start and _UNSPACED.match(text, start - 1) and _UNSPACED.match(text, end)
        edits.append((start, end, "" if unspaced else " "))
    return edits


def spaces(text: str) -> list[Edit]:
    """Write one space for several, and for a non-breaking or a thin one."""
    return [(*match.span(), " ") for match in _SPACES.finditer(text)]


def bullets(text: str) -> list[Edit]:
    """Write "- " for the bullet at the start of a paragraph; "?" is one that a console could not show."""
    match = _BULLET.match(text)
    return [(*match.span(), "- ")] if match else []


def footnote_marks(text: str, *, front: bool = False) -> list[Edit]:
    """Remove raised numbers and daggers after words; write other raised and lowered text as Unicode, as in "m²".

    In `front` matter raised numbers are also removed after names of any length.
    """
    edits: list[Edit] = []
    for match in _RAISED.finditer(text):
        tag, mark = (match[1].lower(), match[2]) if match[1] else ("", match[0])
        before = text[max(0, match.start() - 5) : match.start()]
        is_behind = _BEFORE_NOTE.search(before) or (front and before[-1:].isalpha()) or mark[:1] in tuple("[†‡§¶")
        if tag != "sub" and _NOTE.fullmatch(mark) and (is_behind or not mark):
            edits.append((*match.span(), ""))
        elif tag and (written := _written(tag, mark, before)) is not None:
            edits.append((*match.span(), written))
    return edits + [(*match.span(), "") for match in _DAGGERS.finditer(text)]


def _written(tag: str, mark: str, before: str) -> str | None:
    """Return a raised or lowered mark without its tags; None if Unicode does not have its characters."""
    if _ORDINAL.fullmatch(mark) and before[-1:].isdigit():
        return mark
    table = RAISED if tag == "sup" else LOWERED
    return mark.translate(table) if all(ord(char) in table or char in ", ⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻" for char in mark) else None


def author_marks(text: str) -> list[Edit]:
    """Remove all marks that tie names to notes, as in "A. Smith*†", in front matter and at the beginning of notes."""
    return [(*match.span(), "") for match in _AUTHOR_MARKS.finditer(text)]
