"""Read the inside of a paragraph, a heading or a cell in Markdown as a reader sees it."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factoid.text.blocks import Visible, VisibleText
from factoid.text.html.tags import BOLD, BOUNDARIES, is_element, is_ended, is_struck
from factoid.text.inline_rules import positioned
from factoid.words import RAISED

if TYPE_CHECKING:
    from markdown_it.token import Token

_MARK = re.compile(r"[\\`*_\[<&$~^=!{+\n]|;base64,|:[\w+-]+:")
_RAISED_NUMBER = re.compile(r"[\d+−–, -]+")
_TAG = re.compile(r"</?(?P<name>[A-Za-z][A-Za-z0-9-]*+)(?P<rest>[^<>]*+)>")
_LONGEST_MARK = 300  # characters; the data of a picture belongs to no sentence's span
_ALTERNATIVE = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=]+))""", re.IGNORECASE)
_PIECE = re.compile(r"(?P<space>\s+)|(?P<entity>&#?\w{1,32};)|[^\s&]+|&")
_APART = BOUNDARIES | {
    "button",
    "option",
    "select",
    "textarea",
}  # do not join the words around them
_PUNCTUATION = ".,;:!?)"
_BEHIND_TOKENS = frozenset(" \t\n.:;[])")  # right behind a tag that is written as a word
_HIDDEN_TAGS = frozenset(("script", "style", "svg", "template"))


def inline(
    content: str, places: Sequence[int], references: Mapping[str, Any] | None = None
) -> Visible:
    """Return what a reader sees of a stretch of Markdown without blocks.

    Links are their text, images their alternative text; a line's end is a line feed. Inline code
    keeps its backticks, formulas their signs: both are protected. Raised numbers are Unicode's:
    "10³". Text that is struck out holds no longer, and is left out.

    Args:
        content: The source, line by line without the marks of quotes and lists.
        places: The place of each of its characters in the document.
        references: The definitions of links in the document, as markdown-it-py collects them.
    """
    if not _MARK.search(content):
        text = content.strip()
        start = content.find(text) if text else 0
        return Visible(text, places[start : start + len(text)])
    reader = _Reader(content, places)
    for token, at in positioned(content, references or {}):
        reader.read(token, at)
    return reader.visible()


class _Reader:
    """Puts together what a reader sees, token by token."""

    def __init__(self, content: str, places: Sequence[int]) -> None:
        self.content = content
        self.places = places
        self.seen = VisibleText()
        self.strong = 0  # levels of bold text around a token
        self.has_plain = False  # whether some of the text is not bold
        self.is_raised = False
        self.hidden = ""  # the element around a token that nobody sees
        self.depth = 0  # of elements of that name within each other
        self.is_behind_hidden = False  # whether something was left out right before a token
        self.struck_to = 0  # where text ends that is struck out

    def read(self, token: Token, at: int) -> None:
        """Add a token that starts at a place in the content."""
        kind = token.type
        if kind == "html_inline":
            self._read_tag(token.content, at)
        elif self.hidden or at < self.struck_to:
            self.is_behind_hidden = True
            return
        elif kind == "text":
            self._read_text(token, at)
        elif kind in ("softbreak", "hardbreak"):
            self.seen.put("\n", self.places[at])
        elif kind == "text_special":
            self._read_special(token, at)
        elif kind in ("code_inline", "formula"):
            self._protect(at, token.meta["end"])
        elif kind == "shown":
            self.seen.add_at(
                token.content,
                self.places[token.meta["start"] : token.meta["start"] + len(token.content)],
            )
            self._mark_around(
                at, token.meta["start"], token.meta["start"] + len(token.content), token.meta["end"]
            )
        elif kind == "sign":
            self.has_plain = self.has_plain or not self.strong
            self.seen.put(token.content, self.places[at])
            self._close(at + 1, token.meta["end"])
        elif kind == "hidden":
            self.is_behind_hidden = True
            self._close(at, token.meta["end"])
        elif kind in ("em_open", "strong_open", "pair_open"):
            self.strong += kind == "strong_open"
            self.struck_to = token.meta.get("struck_to", self.struck_to)
            self._open(at, at + len(token.markup if kind == "pair_open" else "*"))
        elif kind in ("em_close", "strong_close", "pair_close"):
            self.strong -= kind == "strong_close"
            self._close(at, at + len(token.markup if kind == "pair_close" else "*"))
        elif kind == "note_open":
            self.seen.put(" ", self.places[at])
        elif kind in ("link_open", "image_open"):
            self._open(token.meta["start"], at)
        elif kind in ("link_close", "image_close", "note_close"):
            self.seen.drop(self.content[at - token.meta.get("size", 0) : at])
            self._close(at, token.meta["end"])

    def visible(self) -> Visible:
        """Return what was read."""
        seen = self.seen.visible()
        is_strong = bool(seen.text) and not self.has_plain
        return seen._replace(is_strong=is_strong)

    def _read_text(self, token: Token, at: int) -> None:
        if not token.content:  # the outer one of two marks of emphasis
            is_outer_opening = token.meta.get("opens", False)
            mark = self._open if is_outer_opening else self._close
            mark(at, at + 1)
            return
        text = token.content
        if self.is_behind_hidden and text[0] in _PUNCTUATION:
            self.seen.drop_spaces()
        self.is_behind_hidden = False
        if self.is_raised and _RAISED_NUMBER.fullmatch(text):
            text = text.translate(RAISED)
        if not self.strong and text.strip(" \n:"):
            self.has_plain = True
        self.seen.add_at(text, self.places[at : at + len(text)])

    def _read_special(self, token: Token, at: int) -> None:
        end = at + len(token.markup)
        if not self.strong:
            self.has_plain = True
        if token.info == "escape":
            text = token.content
            self.seen.add_at(text, self.places[end - len(text) : end])
            self._open(at, end - len(text))
        else:
            self.seen.put(token.content, self.places[at])
            self._close(at + 1, end)

    def _protect(self, start: int, end: int) -> None:
        first = len(self.seen)
        self.has_plain = self.has_plain or not self.strong
        self.seen.add_at(self.content[start:end], self.places[start:end])
        self.seen.protect(first)

    def _read_tag(self, source: str, at: int) -> None:
        end = at + len(source)
        if source.startswith(("<!", "<?")):
            self._close(at, end)
            return
        match = _TAG.match(source)
        name = match["name"].lower() if match else ""
        is_closing = source.startswith("</")
        if self.hidden or at < self.struck_to:
            if name and name == self.hidden:
                self.depth += -1 if is_closing else 1
                self.hidden = name if self.depth else ""
            return
        if match is None or not is_element(name, match["rest"]):
            self.has_plain = True
            self.seen.add_at(source, self.places[at:end])
        elif not is_closing and self._hides(name, source, end):
            self.hidden = name
            self.depth = 1
        elif name == "br":
            self.seen.put("\n", self.places[at])
        elif name == "img":
            self._read_alternative(source, at)
        elif name in _APART:
            self.seen.put(" ", self.places[at])
            if is_closing:
                self._close(at, end)
        elif is_closing:
            self._close(at, end)
        else:
            self._open(at, end)
        if name in BOLD:
            self.strong += -1 if is_closing else 1
        if name == "sup":
            self.is_raised = not is_closing

    def _hides(self, name: str, source: str, end: int) -> bool:
        """Return whether nobody sees the text of an element, or sees it struck out.

        An element that is not closed strikes nothing out, and neither does a tag that is written as
        a word or a token: "T5 has no <s>. It has </s>".
        """
        if source.endswith("/>"):
            return False
        if name in _HIDDEN_TAGS:
            return True
        if not is_struck(name, source):
            return False
        following = self.content[end : end + 1]
        is_token = not following or following in _BEHIND_TOKENS
        return not is_token and is_ended(name, self.content, end)

    def _read_alternative(self, source: str, at: int) -> None:
        alternative = _ALTERNATIVE.search(source)
        if alternative is None:
            return
        group = alternative.lastindex or 1
        start = at + alternative.start(group)
        end = at + alternative.end(group)
        for piece in _PIECE.finditer(self.content, start, end):
            first = piece.start()
            if piece["space"]:
                self.seen.put(" ", self.places[first])
            elif piece["entity"]:
                self.seen.put(html.unescape(piece[0]), self.places[first])
            else:
                self.seen.add_at(piece[0], self.places[first : piece.end()])
        self._mark_around(at, start, end, at + len(source))

    def _mark_around(self, start: int, first: int, last: int, end: int) -> None:
        self._open(start, first)
        self._close(last, end)

    def _open(self, start: int, end: int) -> None:
        if start < end:
            self.seen.opening[self.places[end - 1] + 1] = self.places[start]

    def _close(self, start: int, end: int) -> None:
        if start < end <= start + _LONGEST_MARK:
            self.seen.closing[self.places[start]] = self.places[end - 1] + 1
