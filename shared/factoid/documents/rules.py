"""Rules that clean the text of a paragraph; each returns the edits that it would make."""

from __future__ import annotations

import re
import unicodedata

from factoid.documents.tables import TICK
from factoid.documents.trace import Edit
from factoid.sentences import Span

# Ticked or empty boxes: whole lines of them, else those in a line with the white space around them.
_MARKS = re.compile(
    rf"^[ \t]*+(?:{TICK}[ \t]*+)++(?:\n|\Z)|(?<![ \t])[ \t]*+{TICK}(?:[ \t]*+{TICK})*+[ \t]*+",
    re.MULTILINE,
)
_CHARACTERS = re.compile(
    "(?P<ligature>[ﬀ-ﬆ])"
    r"|(?P<blank>(?<=\S)(?:[ \t\u00a0\u2009\u202f]{2,}|[\u00a0\u2009\u202f])(?=\S))"
    "|\u00ad[^\\S\n]*\n\\s*|[\u00ad\u200b\u2060\ufeff]"  # a soft hyphen with the line end behind it
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
DISPLAY = ("$$", "\\[")  # how a formula on lines of its own begins
_LINE_BREAK = re.compile(r"(?<![ \t\n])[ \t]*+\n\s*+(?!- )")  # not before an item of a list
_QUOTED_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*+\n[\s>]*+")
# Thai, Lao, Burmese, Khmer, Chinese and Japanese have no spaces between words.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff00-\uff9f]"
)
_VERBATIM = re.compile(
    r"(?<!\\)\$\$(?:(?!\$\$)[^\\]|\\.)++\$\$"
    r"|(?<![\\$\w])\$(?![\s$])(?:\\.|[^$\\])++(?<!\s)\$(?![\d$])"
    r"|\\\((?:(?!\\[()])[^\n])++\\\)|\\\[(?:(?!\\[\[\]]).)++\\\]"
    r"|(?<![`\w])`(?![`\s])[^`]{1,200}(?<!\s)`(?![`\w])",  # not a quote as in `LaTeX'
    re.DOTALL,
)
# "\[3\]" is not a formula, but a citation with escapes.
_MATH = re.compile(r"\\[A-Za-z]|[\^={}+<>]|\A\\\(\s*[A-Za-z]\s*\\\)\Z")
# "?" is one that a console could not show
_BULLET = re.compile(r"(?:^[ \t]*+[·•‣▪●◦]|\A\?)\s+(?=\S)", re.MULTILINE)
# A picture inside a text, as base64: as Markdown, which a converter may have cut off, as a tag, and
# as the target of a reference.
_DATA_URI = r"<?data:[\w.+/-]*[;,][^\s)>\"']*+>?"
_IMAGE_DATA = re.compile(
    rf"""!\[(?P<alt>[^\[\]]*+)\]\(\s*{_DATA_URI}(?:\s+"[^"\n]*")?\s*(?:\)|\Z)
    |<img\b(?=[^<>]*?\bsrc\s*=\s*["']?data:)(?:[^<>]*?\balt\s*=\s*"(?P<name>[^"<>]*)")?[^<>]*>
    |^[ ]{{0,3}}\[[^\[\]\n]+\]:[ \t]*{_DATA_URI}[ \t]*$""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_NOTE = re.compile(  # behind a word of four letters or punctuation: "m²" is a unit
    r"(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?…。！？\"'”’»]))"
    r"(?:[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[,⁻][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*|<sup>[\d\s,–]{1,9}</sup>)",
    re.IGNORECASE,
)
_DAGGERS = re.compile(r"(?<=[\w.,;:)\"”])[†‡]+(?=[\s.,;:)]|\Z)|(?:(?<=\s)|\A)[†‡]+\s?(?=\w)")


def verbatim(text: str) -> list[Span]:
    r"""Return the spans that stay unchanged, inline code and formulas.

    Formulas are in "$…$", "$$…$$", "\(…\)" and "\[…\]".

    The last two must contain mathematical signs.
    """
    matches = _VERBATIM.finditer(text)
    spans = []
    for match in matches:
        if match[0][0] in "$`" or _MATH.search(match[0]):
            spans.append(match.span())
    return spans


def image_data(text: str) -> list[Edit]:
    """Write the alternative text of a picture for one whose data is in the text itself."""
    edits = []
    for match in _IMAGE_DATA.finditer(text):
        edits.append((*match.span(), match["alt"] or match["name"] or ""))
    return edits


def selection_marks(text: str) -> list[Edit]:
    """Remove the marks of ticked or empty boxes."""
    edits: list[Edit] = []
    for match in _MARKS.finditer(text):
        start, end = match.span()
        before = text[max(start - 1, 0) : start]
        after = text[end : end + 1]
        is_inside = before not in ("", "\n") and after not in ("", "\n")
        if is_inside:
            edits.append((start, end, " "))
        else:
            edits.append((start, end, ""))
    return edits


def characters(text: str) -> list[Edit]:
    """Write ligatures as letters, and remove characters that nobody sees.

    Several spaces become one; soft hyphens and zero-width characters go.
    """
    edits = []
    for match in _CHARACTERS.finditer(text):
        letters = " "
        if not match["blank"]:
            letters = unicodedata.normalize("NFKC", match["ligature"] or "")
        edits.append((*match.span(), letters))
    return edits


def escapes(text: str) -> list[Edit]:
    r"""Remove Markdown's backslashes, as in "1\."."""
    return [(match.start(), match.start() + 1, "") for match in _ESCAPE.finditer(text)]


def footnote_marks(text: str) -> list[Edit]:
    """Remove daggers, and raised numbers behind punctuation and words."""
    edits = []
    for pattern in (_NOTE, _DAGGERS):
        for match in pattern.finditer(text):
            edits.append((*match.span(), ""))
    return edits


def bullets(text: str) -> list[Edit]:
    """Write "- " for the bullets of lists."""
    return [(*match.span(), "- ") for match in _BULLET.finditer(text)]


def line_breaks(text: str) -> list[Edit]:
    """Join the lines of a paragraph or a quote.

    There is no space between characters of scripts that have none. Items of lists and formulas keep
    lines of their own.
    """
    edges: set[int] = set()  # of formulas with lines of their own
    for start, end in verbatim(text):
        if text.startswith(DISPLAY, start) and "\n" in text[start:end]:
            edges |= {start, end}
    pattern = _LINE_BREAK
    if text.startswith(">"):
        pattern = _QUOTED_LINE_BREAK
    edits: list[Edit] = []
    for match in pattern.finditer(text):
        start, end = match.span()
        if start in edges or end in edges:
            continue
        if start and _UNSPACED.match(text, start - 1) and _UNSPACED.match(text, end):
            edits.append((start, end, ""))
        else:
            edits.append((start, end, " "))
    return edits
