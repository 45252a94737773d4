"""Make paragraphs, headings, items and code of the texts and elements of a page or of a cell."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.entities import html5

from factoid.text.blocks import Block, BlockKind, Lead, Span, Visible, VisibleText
from factoid.text.heading_lines import is_sentence, names_paragraphs
from factoid.text.html.tags import BOLD, BOUNDARIES, CODE, HEADINGS, ITEMS, KEEPS_SPACE, LISTS, Tag
from factoid.text.introductions import introduces
from factoid.words import RAISED

Inline = Callable[[str, Sequence[int]], Visible]

_LEAD_WORDS = 30  # most words of a paragraph that leads to a list
_LONGEST_TERMS = 200  # characters of the terms of one description
_DEEPEST_LEADS = 20
_ANCHOR = "a#"  # an element that may hold no more than a sign, to link to a heading
_ANCHOR_SIGNS = frozenset(("¶", "#", "§", "🔗", "\u200b", "\uf0c1"))
_ANCHOR_CLASSES = frozenset(
    """
    headerlink anchor header-anchor hash-link heading-anchor permalink anchor-link anchorjs-link
    """.split()
)
_ENTITY = r"&(?:\#[0-9]{1,7};?|\#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31}+;?)"
_WORDS = re.compile(rf"(?P<space>\s++)|(?P<entity>{_ENTITY})|&|[^\s&]++(?: [^\s&]++)*+")
_LINES = re.compile(rf"(?P<entity>{_ENTITY})|(?P<line>\r\n?+)|[^&\r]++|&")
_EMPTY_LINES = re.compile(r"(?:[^\S\n]*+\n)*+")
_RAISED_NUMBER = re.compile(r"(?=[\s+−–,-]*+\d)[\s\d+−–,-]++")
_ADDRESS = re.compile(r"\s*(?:data:|(?:https?:)?//)\S*\s*", re.IGNORECASE)
_BLANK_LINE = re.compile(r"\n[ \t]*+\r?\n[ \t]*+(?:<[^<>]{1,40}>){0,3}\Z")
_LONGEST_INDENTATION = 100
_PUNCTUATION = ".,;:!?)]}…"


@dataclass
class _List:
    """A list that is open, or what is like one: terms with descriptions."""

    level: int  # how many lists its items are in
    leads: tuple[Lead, ...]
    item: Lead | None = None  # the item or the term that was last read
    awaits: str = ""  # "li" before the text of an item, "dt" in a term, "dd" in a description


class Flow:
    """The text of the page, or of a cell of a table, while it is read."""

    def __init__(self, source: str, inline: Inline | None = None) -> None:
        self.source = source
        self.inline = inline  # reads Markdown, which stands behind blank lines
        self.blocks: list[Block] = []
        self.open: list[str] = []  # elements, each by its name, items with the depth of their list
        self.counts: Counter[str] = Counter()  # of those that are open
        self.ended: Counter[str] = Counter()  # of those that ended before elements in them did
        self.lists: list[_List] = []
        self.heading = 0
        self._start_block()

    def _start_block(self) -> None:
        self.text = VisibleText()
        self.last = ""  # the last character
        self.end = 0  # of the last visible character in the source
        self.is_bold = True
        self.gap: int | None = None  # where white space stands that is not yet in the text
        self.join: int | None = None  # where an image ends that nothing follows yet
        self.code_start = 0

    # Text

    def add(self, start: int, end: int) -> None:
        """Add a stretch of the source, with white space as it is seen."""
        if _ANCHOR in self.counts:
            sign = html.unescape(self.source[start:end]).strip()
            if sign in _ANCHOR_SIGNS:
                return
        if self.is_pre:
            self._add_lines(start, end)
            return
        is_raised = False
        if "sup" in self.counts:
            is_raised = _RAISED_NUMBER.fullmatch(html.unescape(self.source[start:end])) is not None
        for piece in _WORDS.finditer(self.source, start, end):
            seen = piece[0]
            if piece["entity"]:
                seen = _decoded(seen)
            if not seen or seen.isspace():
                self.space(piece.start())
                continue
            if is_raised:
                seen = seen.translate(RAISED)
            self._before_word(seen[0])
            self._put(seen, piece.start(), piece.end())

    def _add_lines(self, start: int, end: int) -> None:
        for piece in _LINES.finditer(self.source, start, end):
            seen = piece[0]
            if piece["line"]:
                seen = "\n"
            elif piece["entity"]:
                seen = _decoded(seen).replace("\xa0", " ")
            if seen.isspace() or not seen:
                self._put(seen, piece.start(), self.end)
            elif piece["entity"]:
                self._put(seen, piece.start(), piece.end())
            else:
                self._put(seen, piece.start(), piece.start() + len(seen.rstrip()))

    def _put(self, seen: str, start: int, end: int) -> None:
        if self.source.startswith(seen, start) or (len(seen) == end - start and not seen.isspace()):
            self.text.add(seen, start)  # raised numbers, too
        else:
            self.text.put(seen, start)
        self.last = seen[-1:] or self.last
        self.end = end
        if self.counts.keys().isdisjoint(BOLD):
            self.is_bold = False

    def _before_word(self, first: str) -> None:
        if self.gap is None and first not in _PUNCTUATION:
            self.gap = self.join
        if self.gap is not None and self.last and not self.last.isspace():
            self.text.put(" ", self.gap)
            self.last = " "
        self.gap = None
        self.join = None

    def space(self, at: int) -> None:
        """Note white space, which is one space before the next word."""
        if self.gap is None:
            self.gap = at

    def new_line(self, at: int) -> None:
        """Add a line break, unless the block has no text yet."""
        if self.last:
            self.text.put("\n", at)
            self.last = "\n"
        self.gap = None
        self.join = None

    def add_apart(self, tag: Tag, start: int, end: int) -> None:
        """Add the alternative text of an image, which does not join the words around it."""
        if start < end and not _ADDRESS.fullmatch(self.source, start, end):
            self.space(tag.start)
            self.add(start, end)
            self.join = tag.end - 1

    def put_apart(self, tag: Tag, sign: str) -> None:
        """Add a sign for a tag, which does not join the words around it."""
        self._before_word(sign)
        self._put(sign, tag.start, tag.end)
        self.join = tag.end - 1

    # Elements

    def push(self, name: str) -> None:
        """Open an element."""
        if name in CODE and self.counts.keys().isdisjoint(CODE):
            self._before_word("`")
            self.code_start = len(self.text)
        self.open.append(name)
        self.counts[name] += 1

    def pop(self, name: str) -> None:
        """Close the innermost element of a name, and all in it, if there is one.

        The end of bold text and the like closes no paragraph and no list.
        """
        if name not in self.counts:
            return
        is_inline = _kind(name) not in BOUNDARIES
        closed = ""
        while closed != name:
            closed = self.open[-1]
            is_boundary = _kind(closed) in BOUNDARIES
            if is_boundary and is_inline:
                self._uncount(name)
                self.ended[name] += 1
                return
            if is_boundary and (closed in KEEPS_SPACE or not self.is_pre):
                self.flush()
            if closed in LISTS:
                self.lists.pop()
            self.open.pop()
            if self.ended[closed]:
                self.ended[closed] -= 1
            else:
                self._uncount(closed)

    def _uncount(self, name: str) -> None:
        self.counts[name] -= 1
        if not self.counts[name]:
            del self.counts[name]
        if name in CODE and self.counts.keys().isdisjoint(CODE):
            self.text.protect(self.code_start)

    def boundary(self, at: int) -> None:
        """End a paragraph, or a line of code."""
        if not self.is_pre:
            self.flush()
        elif self.last != "\n":
            self.new_line(at)

    def key(self, name: str) -> str:
        """Return the name of an element, with the depth of its list if it is an item."""
        kind = "dd" if name == "dt" else name  # a term and a description close each other
        if self.is_pre and name in LISTS | ITEMS:
            return f"{kind}@pre"
        return f"{kind}@{len(self.lists)}" if name in ITEMS else name

    def open_list(self, name: str) -> None:
        """Open a list, which goes on from the item around it and from the paragraph before it."""
        above = self.lists[-1] if self.lists else _List(0, ())
        leads = above.leads
        if above.item:
            leads = (*leads, above.item)
        before = self.blocks[-1] if self.blocks else None
        if before and _leads_on(before):
            introduction = lead_of(before)
            if introduction != above.item:
                leads = (*leads, introduction)
        level = above.level + (name != "dl")
        self.lists.append(_List(level, leads[-_DEEPEST_LEADS:]))
        self.push(name)

    def open_item(self, name: str) -> None:
        """Open an item, a term or a description."""
        if name == "li" and (not self.lists or self.lists[-1].level == 0):
            self.open_list("ul")
        self.pop(self.key(name))
        if self.lists:
            entry = self.lists[-1]
            if name == "li" or (name == "dt" and entry.awaits == "dd"):
                entry.item = None
            entry.awaits = name
        self.push(self.key(name))

    def close_element(self, name: str) -> None:
        """Close an element that a reader sees."""
        if name in HEADINGS:
            self.heading = 0
        elif name == "a" and _ANCHOR in self.counts:
            self.pop(_ANCHOR)
        else:
            self.pop(self.key(name))

    def open_element(self, tag: Tag) -> None:
        """Open an element that a reader sees."""
        name = tag.name
        if self.is_pre:
            self.push(self.key(name))
            return
        if name in BOUNDARIES:
            self.pop("p")
        if name in HEADINGS:
            self.heading = int(name[1])
        elif name in LISTS:
            self.open_list(name)
        elif name in ITEMS:
            self.open_item(name)
        elif name == "a" and tag.get("href").startswith("#") and self._is_anchor(tag):
            self.push(_ANCHOR)
        else:
            self.push(name)

    def _is_anchor(self, tag: Tag) -> bool:
        return bool(self.heading) or not tag.words("class").isdisjoint(_ANCHOR_CLASSES)

    # Blocks

    @property
    def is_pre(self) -> bool:
        """Whether white space is kept."""
        return not self.counts.keys().isdisjoint(KEEPS_SPACE)

    def flush(self) -> None:
        """End the block that is being read."""
        if not self.last:
            self._start_block()
            return
        is_pre = self.is_pre
        if not self.counts.keys().isdisjoint(CODE):
            self.text.protect(self.code_start)
        visible = self.text.visible()
        if is_pre:
            visible = _kept_lines(self.text)
        visible = visible._replace(is_strong=self.is_bold and bool(visible.text))
        end = self.end
        self._start_block()
        if (
            self.inline
            and visible.text
            and not is_pre
            and _BLANK_LINE.search(self.source, *_before(visible.offsets[0]))
        ):
            visible = self.inline(visible.text, visible.offsets)
        if visible.text.strip():
            self._add_block(visible, end, is_pre)

    def _add_block(self, visible: Visible, end: int, is_pre: bool) -> None:
        kind: BlockKind = "paragraph"
        level = 0
        leads: tuple[Lead, ...] = ()
        entry = self.lists[-1] if self.lists else None
        if is_pre:
            kind = "code"
        elif self.heading:
            kind = "heading"
            level = self.heading
            self.heading = 0
        elif entry and entry.awaits == "li":
            kind = "item"
            level = entry.level
            leads = entry.leads
        elif entry and entry.item and entry.awaits != "dt":
            is_described = entry.awaits == "dd"
            if is_described or names_paragraphs(entry.item.text):
                leads = (*entry.leads, entry.item)
        start = visible.offsets[0]
        block = Block(kind, start, max(end, start + 1), visible, level, leads=leads)
        self.blocks.append(block)
        if entry and kind == "item":
            entry.item = lead_of(block)
            entry.awaits = ""
        elif entry and kind == "paragraph" and entry.awaits == "dt":
            entry.item = _joined(entry.item, lead_of(block))


def _before(place: int) -> Span:
    return max(0, place - _LONGEST_INDENTATION), place


def _kind(key: str) -> str:
    return key.partition("@")[0]


def _decoded(entity: str) -> str:
    """Return what a character reference stands for; an unknown one as it is written."""
    if entity[1] == "#":
        return html.unescape(entity)
    return html5.get(entity[1:], entity)


def _kept_lines(text: VisibleText) -> Visible:
    """Return code without empty lines around it."""
    seen = "".join(text.parts)
    end = len(seen.rstrip())
    empty = _EMPTY_LINES.match(seen)
    start = min(empty.end() if empty else 0, end)
    return Visible(seen[start:end], text.offsets[start:end], ((0, end - start),))


def lead_of(block: Block) -> Lead:
    """Return a block as what others go on from."""
    return Lead(block.start, block.end, block.visible.text)


def _joined(first: Lead | None, second: Lead) -> Lead:
    if first is None or len(first.text) > _LONGEST_TERMS:
        return second
    return Lead(first.start, second.end, f"{first.text}, {second.text}")


def _leads_on(block: Block) -> bool:
    """Return whether a block is the introduction of the list that follows it."""
    text = block.visible.text
    if block.kind != "paragraph":
        return False
    if len(text.split(maxsplit=_LEAD_WORDS)) > _LEAD_WORDS:
        return False
    return text.endswith((":", "：")) or introduces(text, "", is_sentence=is_sentence(text))
