"""Hide parts of a text.

They are recorded stretch by stretch, and written without a change of any position.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal

FILLER = "\ue0f0"  # one hidden character; the reader of inlines drops it
BREAK = "\ue0f1"  # hidden, too; a line that holds it (first hidden character) is a block of its own

# What becomes of text that is shown within something hidden: it is a block of its own (and hidden
# where it is not alone on its line), flows with the text around it, or is the one if it is alone
# and else the other. A label has a colon behind it where it flows.
Shown = Literal["title", "text", "either", "label"]

_BACKTICKS = re.compile(r"`+")
_INDENT = re.compile(r"[ \t]*+(?:>[ \t]*+)*+")


class Cover:
    """The hidden parts of a text, line by line.

    Attributes:
        text: The text.
        starts: Where its lines start.
        contents: Where lines with something hidden start behind the marks before them, by line.
        html_lines: Lines of HTML, which a blank line would end: there, nothing becomes blank.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.contents: dict[int, int] = {}
        self.html_lines: set[int] = set()
        self._output = list(text)
        self._hidden: dict[int, list[tuple[int, int]]] = {}  # by line
        self._shown: dict[int, list[tuple[int, int, Shown]]] = {}

    def result(self) -> str:
        """Return the text with what is hidden replaced."""
        for number in self._hidden:
            self._write(number)
        return "".join(self._output)

    def end(self, number: int) -> int:
        """Return where a line ends, without white space."""
        start = self.starts[number]
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.text)
        while end > start and self.text[end - 1] in " \t\r":
            end -= 1
        return end

    def at(self, number: int) -> int:
        """Return where a line starts behind white space and marks of quotes."""
        match = _INDENT.match(self.text, self.starts[number])
        return match.end() if match else self.starts[number]

    def line_of(self, place: int) -> int:
        """Return the number of the line that a place is on."""
        return bisect_right(self.starts, place) - 1

    def put(self, at: int, character: str) -> None:
        """Write a character over another one."""
        self._output[at] = character

    def hide_lines(self, first: int, following: int) -> int:
        """Hide lines but for the marks of quotes before them.

        The result is the number of the line behind them.
        """
        for number in range(first, following):
            content = self.contents.get(number, self.at(number))
            self.hide(number, content, self.end(number))
        return following

    def hide(
        self,
        number: int,
        start: int,
        end: int,
        shown: tuple[int, int] | None = None,
        kind: Shown = "title",
    ) -> None:
        """Hide a stretch that starts on a line but for what is shown."""
        if shown:
            begin, stop = self._stripped(*shown)
            if begin < stop:
                self._shown.setdefault(self.line_of(begin), []).append((begin, stop, kind))
                self.hide(number, start, begin)
                self.hide(self.line_of(stop), stop, end)
                return
        has_quotes = ">" in self.text[self.starts[number] : self.contents.get(number, start)]
        while start < end:
            stop = min(end, self.end(number))
            self._hidden.setdefault(number, []).append((start, stop))
            number += 1
            if number == len(self.starts):
                break
            start = self.starts[number]
            if start < end:
                start = min(end, self.at(number) if has_quotes else self._indent(number))
                self.contents.setdefault(number, start)

    def _visible(self, number: int) -> list[tuple[int, int]]:
        """Return the stretches of a line that nothing hides."""
        at = self.contents.setdefault(number, self.at(number))
        parts = []
        for start, end in sorted(self._hidden[number]):
            if at < start:
                parts.append((at, start))
            at = max(at, end)
        end = self.end(number)
        if at < end:
            parts.append((at, end))
        return [part for part in parts if self.text[part[0] : part[1]].strip()]

    def is_hidden(self, number: int) -> bool:
        """Return whether nothing of a line is left."""
        return number in self._hidden and not self._visible(number)

    def _write(self, number: int) -> None:
        """Write a line with what is hidden on it."""
        visible = self._visible(number)
        blocks: list[tuple[int, int]] = []  # what may be a block of its own
        only_blocks: list[tuple[int, int]] = []  # what is nothing else
        for begin, stop, kind in self._shown.get(number, ()):
            if kind != "text":
                blocks.append((begin, stop))
            if kind == "title":
                only_blocks.append((begin, stop))
        starts_block = bool(blocks) and all(
            _is_within(self._stripped(*part), blocks[0]) for part in visible
        )
        if only_blocks and not starts_block:
            self._hidden[number] += only_blocks
            visible = self._visible(number)
        content = self.contents[number]
        if not visible and number not in self.html_lines:
            self.fill(content, self.end(number), " ")
            return
        for start, end in self._hidden[number]:
            self.fill(start, end, FILLER)
        if not starts_block:
            for begin, stop, kind in self._shown.get(number, ()):
                if kind == "label":
                    self._separate(begin, visible)
                    self._put_colon(stop)
        if starts_block and visible:
            self.fill(content, blocks[0][0], FILLER)
            self._output[content] = BREAK

    def fill(self, start: int, end: int, character: str) -> None:
        """Write a character over each of a stretch, but for line breaks."""
        for at in range(start, end):
            if self.text[at] not in "\r\n":
                self._output[at] = character

    def _separate(self, begin: int, visible: list[tuple[int, int]]) -> None:
        """Write a space before a label that would touch what is visible before it."""
        ends = [end for _, end in visible if end < begin]
        if ends and not self.text[ends[-1] - 1].isspace():
            self._output[begin - 1] = " "

    def _put_colon(self, at: int) -> None:
        """Write a colon and a space over what is hidden behind a label.

        Behind the end of a sentence no colon stands.
        """
        if self.text[at - 1] not in ".:?!":
            self._output[at] = ":"
            at += 1
        if self.text[at] not in "\r\n":
            self._output[at] = " "

    def _indent(self, number: int) -> int:
        at = self.starts[number]
        while at < len(self.text) and self.text[at] in " \t":
            at += 1
        return at

    def _stripped(self, start: int, end: int) -> tuple[int, int]:
        text = self.text[start:end]
        stripped = text.strip()
        begin = start + text.find(stripped)
        return begin, begin + len(stripped)


def _is_within(part: tuple[int, int], other: tuple[int, int]) -> bool:
    return other[0] <= part[0] and part[1] <= other[1]


def is_in(spans: list[tuple[int, int]], place: int) -> bool:
    """Return whether a place is in one of some spans, which are in order."""
    index = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return index >= 0 and place < spans[index][1]


def code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the inline code of a part of a text is."""
    runs = [match.span() for match in _BACKTICKS.finditer(text, start, end)]
    by_length: dict[int, list[int]] = {}
    for begin, stop in reversed(runs):
        by_length.setdefault(stop - begin, []).append(begin)
    spans: list[tuple[int, int]] = []
    for begin, stop in runs:
        same = by_length[stop - begin]
        same.pop()
        if spans and begin < spans[-1][1]:
            continue
        if same and text[begin - 1 : begin] != "\\":
            spans.append((begin, same[-1] + stop - begin))
    return spans
