"""Units and hits as text for a terminal.

Wrapped at 100 columns, with the part that matters highlighted.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import TextIO

from factoid.units import Granularity, Hit, Unit

WIDTH = 100
_EXCERPT = 320  # characters of a passage shown with a hit: about four lines

_BOLD = "\x1b[1;33m"
_RESET = "\x1b[0m"
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def wants_color(stream: TextIO) -> bool:
    """Return whether a stream is a terminal whose user wants colour.

    See https://no-color.org.
    """
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def excerpt(
    text: str, start: int = 0, end: int = 0, *, chars: int = _EXCERPT, color: bool = False
) -> str:
    """Return about `chars` characters of a text on one line, with a span marked.

    `[start, end)` is in colour or between » and «.
    """
    before, inside, after = (
        _UNPRINTABLE.sub(" ", part) for part in (text[:start], text[start:end], text[end:])
    )
    if not inside.strip():
        return _head(before + inside + after, chars)
    inside = _head(inside, chars)
    room = chars - len(inside)
    before = _tail(before, max(room // 2, room - len(after)))
    on, off = (_BOLD, _RESET) if color else ("»", "«")
    return f"{before}{on}{inside}{off}{_head(after, room - len(before))}"


def wrap(text: str, *, indent: str = "", first: str | None = None) -> str:
    """Wrap one paragraph at WIDTH columns; `first` replaces `indent` before the first line."""
    first = indent if first is None else first
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    )


def count(number: int, noun: str) -> str:
    """Return a number with its noun, as in "1 passage" and "1,200 passages"."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun}s"


def plain(text: str) -> str:
    """Return a text on one line, without control characters.

    With these a document could steer the terminal.
    """
    return _UNPRINTABLE.sub(" ", text).strip()


def place(unit: Unit) -> str:
    """Return the place of a unit: title › section."""
    return plain(" › ".join(filter(None, [unit.title, unit.section])))


def show_hit(rank: int, hit: Hit, *, color: bool = False, explain: bool = False) -> str:
    """Return a hit as text.

    Score, title › section, parts of the score, an excerpt around the best match, and the matches.
    """
    unit = hit.unit
    matches = [match for match in hit.matches if match.unit.granularity is not Granularity.PASSAGE]
    if matches:
        span = (matches[0].unit.start - unit.start, matches[0].unit.end - unit.start)
    else:
        span = (0, 0)
    lines = [
        wrap(place(unit) or "(no title)", indent=" " * 12, first=f"{rank:>3}  {hit.score:.3f}  ")
    ]
    if explain and hit.parts:
        lines.append(" " * 12 + "  ".join(f"{name} {part:.3f}" for name, part in hit.parts.items()))
    lines.append(wrap(excerpt(unit.text, *span, color=color), indent=" " * 5))
    for match in matches:
        lines.append(
            wrap(excerpt(match.unit.text), indent=" " * 14, first=f"     • {match.score:.3f}  ")
        )
        lines.append(_around(match))
    lines.append(_around(hit))
    if source := unit.metadata.get("source"):
        lines.append(f"     {plain(str(source))}")
    return "\n".join(filter(None, lines))


def _around(hit: Hit) -> str:
    """Return the text around a hit, or "" if it was not requested."""
    text = plain(" ".join(unit.text for unit in hit.neighbours))
    if text:
        return wrap(text, indent=" " * 14, first=f"{'in':>12}  ")
    return ""


def _head(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    cut = text[: max(chars, 0)]
    return f"{cut.rpartition(' ')[0] or cut} …"


def _tail(text: str, chars: int) -> str:
    return _head(text[::-1], chars)[::-1]
