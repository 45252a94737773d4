"""Tell what stands around a line.

There may be running text, a list, verse, the head of a page, a letter, a conversation or a log.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from factoid.text.heading_lines import is_caption, is_page_line
from factoid.text.lines import line_starts

SHORT_LINE = 200  # characters of what can be a heading, a question or the head of a page

_SHORT_CHARS = 100  # of an author or a date below a title
_UNWRAPPED = 200  # characters of a line that nobody wrapped
_REPEATED = 3  # times: speakers, notes
_LETTER_HEAD = 25  # lines above "Dear …"
_SIGNATURE = 6  # lines below "Yours …"
_VERSE_CHARS = 65
_LOGGED_SHARE = 6  # one block of so many in a log starts with a time
_TURNS, _TURNS_SHARE = 4, 3  # turns of a conversation; one block of so many is one
_SPOKEN_SHARE = 20  # one block of so many in a story is speech
_END = 20  # characters at the end of a text that show whether it is terminated

LABELLED = re.compile(r"[*_]{0,2}(?![a-zß-ÿ])[^\W_][^:\n.!?;,]{0,39}:[*_]{0,2}(?:\s|\Z)")
SPEAKER = re.compile(
    r"[*_]{0,2}[^\W\d_a-zß-ÿ][^\s:]{0,40}(?: [^\W\d_a-zß-ÿ][^\s:]{0,40}){0,3}:[*_]{0,2}(?:\s|\Z)"
)
BULLET = re.compile(r"[-+*•●▪■►‣–—✓☐☑➢➤\uf0b7]\s?|[|>]")
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’»)\]]*(?:\s|\Z)")
_TERMINATED = re.compile(r"[.!?:;…。！？：；][\"'”’»)\]*_]*\Z|[\"”’»)\]]\Z")
_QUOTES = ('"', "“", "„", "«", "‘", "'", "—", "–")
_LOGGED = re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b")
_SALUTATION = re.compile(
    r"(?:Dear|To whom|Hi|Hello|Sehr geehrte|Liebe|Lieber|Guten Tag|Hallo|Chère?|Madame|Monsieur|"
    r"Estimad|Querid|Gentil|Caro|Cara)[^\n.?]{0,60}[,:!][^\S\n]*(?:\n|\Z)"
)
_CLOSING = re.compile(
    r"(?:Yours|Kind|Best|Warm|Many thanks|With|Sincerely|Regards|Respectfully|Cordially|Faithfully|"
    r"Love|Thank you|Mit freundlichen|Viele|Herzliche|Beste|Freundliche|Cordialement|Bien à vous|"
    r"Atentamente|Saludos|Cordiali)\b[^\n.?!:]{0,40}(?:\n|\Z)"
)
_SIGNED = re.compile(
    r"(?:sincerely|faithfully|truly|regards|wishes|thanks|grüßen?|grüsse|cordialement|atentamente|"
    r"saludos|saluti|love|vous)\b",
    re.IGNORECASE,
)


class Line(NamedTuple):
    """A paragraph, an item, a row or code of a text, as a reader sees it.

    Attributes:
        text: What a reader sees, without marks of Markdown; an item with its number or bullet.
        kind: "heading", "paragraph", "item", "row", "code" or "image".
        is_strong: Whether all of it is bold.
        gap: The number of empty lines above it.
        level: Of a heading that is marked as one, from 1.
    """

    text: str
    kind: str = "paragraph"
    is_strong: bool = False
    gap: int = 1
    level: int = 0


def is_single(line: Line) -> bool:
    """Tell whether a block is one short line."""
    return len(line.text) <= SHORT_LINE and "\n" not in line.text.strip()


def is_terminated(text: str) -> bool:
    """Tell whether a text ends as sentences, introductions and quotations do."""
    return _TERMINATED.search(text[-_END:].rstrip()) is not None


def is_running_text(line: Line) -> bool:
    """Tell whether a block holds the end of a sentence that it begins itself."""
    if line.kind == "heading":
        return False
    text = line.text.lstrip()
    has_sentence = _SENTENCE_END.search(text) is not None
    return has_sentence and not text[:1].islower() and not is_caption(text[:SHORT_LINE])


def is_list(line: Line) -> bool:
    """Tell whether a block is an item, a row, code, short lines, or the introduction of such."""
    if line.kind in ("item", "row", "code", "image") or BULLET.match(line.text):
        return True
    text = line.text.strip()
    return "\n" in text or text.endswith((":", "：")) or bool(line_starts(text))


def is_author(line: Line) -> bool:
    """Tell whether a block is as short as an author or a date.

    Such a block may stand between a title and the text.
    """
    text = line.text.strip()
    return "\n" not in text and len(text) <= _SHORT_CHARS and not _SENTENCE_END.search(text)


def is_verse(line: Line) -> bool:
    """Tell whether a block is verse.

    Verse has short lines with capital letters, most of them without a full stop.
    """
    rows = [row.strip() for row in line.text.strip().split("\n")]
    if len(rows) < 2 or max(map(len, rows)) > _VERSE_CHARS or line_starts(line.text):
        return False
    capitals = sum(row[:1].isupper() or row[:1] in "\"'“‘" for row in rows)
    ended = sum(row[-1:] in ".!" for row in rows)
    widths = [len(row) for row in rows[:-1]]
    is_ragged = max(widths) - min(widths) > 8 or max(widths) < 50
    return capitals >= 0.9 * len(rows) and ended <= 0.6 * len(rows) and is_ragged


def may_stand_below(line: Line, above: Line) -> bool:
    """Tell whether a line can start something new below another, rather than go on from it."""
    if above.kind in ("item", "row", "code", "image", "heading") or is_page_line(above.text):
        return True
    text = above.text.rstrip()
    if text[-1:] in ",;:：；":
        return False
    return line.gap > 0 or is_terminated(text) or len(text) > _UNWRAPPED or line.is_strong


def is_log(lines: Sequence[Line]) -> bool:
    """Tell whether a text is a log: its entries start with times."""
    entries = sum(_LOGGED.match(line.text) is not None for line in lines)
    return _LOGGED_SHARE * entries >= len(lines) > 0


def is_conversation(lines: Sequence[Line]) -> bool:
    """Tell whether a text consists of turns that name their speakers."""
    turns = sum(line.kind == "paragraph" and SPEAKER.match(line.text) is not None for line in lines)
    return turns >= _TURNS and _TURNS_SHARE * turns >= len(lines)


def is_story(lines: Sequence[Line]) -> bool:
    """Tell whether people speak in a text: questions in it are asked by somebody."""
    spoken = sum(line.text.startswith(_QUOTES) for line in lines)
    return spoken > 1 and _SPOKEN_SHARE * spoken >= len(lines)


def templates(lines: Sequence[Line]) -> set[int]:
    """Return the places of lines that come again with another number: "Ticket 17", "Ticket 18"."""
    places: set[int] = set()
    for words, places_of_words in _without_numbers(lines).items():
        if "#" in words and len({lines[place].text for place in places_of_words}) > 1:
            places.update(places_of_words)
    return places


def repeated(lines: Sequence[Line]) -> set[int]:
    """Return the places of heads and feet of pages, and of speakers and labels in capitals.

    Heads of pages come twice or more, but for numbers in them, and some of them interrupt a
    sentence, or stand beside the number of a page.
    """
    by_words: dict[str, list[int]] = {}
    again: set[int] = set()
    for words, places_of_words in _without_numbers(lines).items():
        if len(places_of_words) > 1:
            by_words[words] = places_of_words
            again.update(places_of_words)
    at_page_ends = _at_page_ends(lines, again)
    places: set[int] = set()
    for words, places_of_words in by_words.items():
        ends = at_page_ends.intersection(places_of_words)
        if 3 * len(ends) >= len(places_of_words) and any(map(str.isalpha, words)):
            places.update(places_of_words)
        by_text: dict[str, list[int]] = {}
        for place in places_of_words:
            by_text.setdefault(lines[place].text.strip(), []).append(place)
        for text, again_in_text in by_text.items():
            if len(again_in_text) >= _REPEATED and text.isupper():
                places.update(again_in_text)
    return places


def around_letters(lines: Sequence[Line]) -> set[int]:
    """Return the places of the head of a letter, with its subject, and of names below its end."""
    places: set[int] = set()
    for place, line in enumerate(lines[:_LETTER_HEAD]):
        if _SALUTATION.match(line.text):
            places.update(range(place + 2))
            break
    for place, line in enumerate(lines):
        closing = _CLOSING.match(line.text)
        if closing and _SIGNED.search(closing[0]):
            places.update(range(place, place + _SIGNATURE))
    return places


def _without_numbers(lines: Sequence[Line]) -> dict[str, list[int]]:
    """Return the places of short lines, by their words with a sign for each number."""
    places: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        if len(line.text) <= SHORT_LINE:
            words = re.sub(r"\b\d+\b", "#", line.text).casefold().split()
            places.setdefault(" ".join(words), []).append(place)
    return places


def _at_page_ends(lines: Sequence[Line], again: set[int]) -> set[int]:
    """Return those of the places whose lines stand where a page ends.

    They stand there alone or among others of the places.
    """
    places: set[int] = set()
    run: list[int] = []
    for place in [*sorted(again), len(lines) + 1]:
        if run and place != run[-1] + 1:
            above = lines[run[0] - 1] if run[0] else None
            below = lines[run[-1] + 1] if run[-1] + 1 < len(lines) else None
            if _is_page_end(above, below):
                places.update(run)
            run = []
        run.append(place)
    return places


def _is_page_end(above: Line | None, below: Line | None) -> bool:
    if (above and is_page_line(above.text)) or (below and is_page_line(below.text)):
        return True
    if above is None or below is None or above.kind != "paragraph" or below.kind != "paragraph":
        return False
    return below.text[:1].islower() and not is_terminated(above.text)
