"""Write propositions for the rows of tables.

They have the cells of a row with the names of their columns, and what the row is about.

A row is one proposition, "City: Oslo; Hotel: Grand; Price: 240". One that is long is several, each
of which begins with the cells that name the row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from factoid.sentences import sentence_spans
from factoid.text.blocks import Span
from factoid.text.inline import inline
from factoid.text.paragraphs import NUMBER
from factoid.text.sentence_ends import block_sentences
from factoid.units import Unit
from factoid.words import count_words

LONGEST_FACT = 60  # words; more are several facts
LONGEST_PIECE = 40  # words of a cell's text in one fact, if the text has several sentences

_COMPARED = 100  # characters of a text that are looked for
_KEY_WORDS = 12  # most words of a cell that names a row
_KEY_CELLS = 3  # most cells before and with the one that names a row
_LINE = re.compile(r"[^\r\n]+")
# A name, as long as that of a column may be, a colon, and perhaps a value. "10:30" and "https://"
# are no names.
_CELL = re.compile(r"(?P<name>[^:\s][^:]{0,499}?)[ \t]{0,3}:(?:[ \t]+(?P<value>\S.*))?[ \t\r]*\Z")
_FIELD = re.compile(rf"(?![|>#*`+•\[-]){_CELL.pattern}")
_ITEM = re.compile(r"\s*[-*+•]\s")  # of a list, which is no row
_MAIL = frozenset(
    "from to cc subject date sent".split()
)  # the head of a message says more than one thing
_TABLE_ENDINGS = (".csv", ".tsv")
_NAME_WORDS = 6  # of a field, in a text that may be none of a row
_SENTENCE_MARK = re.compile(r"[.!?;](?:\s|\Z)|[。！？]")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\Z")


class RowFact(NamedTuple):
    """A proposition about a row."""

    text: str  # such as "City: Oslo; Hotel: Grand; Price: 240"
    cells: tuple[
        int, ...
    ]  # places of the cells that it is about, without those that only name the row


class RecordFact(NamedTuple):
    """A proposition about a row whose cells stand on lines.

    The span is that of these lines in the document.
    """

    text: str
    start: int
    end: int


class _Field(NamedTuple):
    name: str
    value: str
    start: int
    end: int


def row_facts(cells: Sequence[tuple[str, str]], *, words: int = LONGEST_FACT) -> list[RowFact]:
    """Return the propositions of a row of a table, in whatever file it stands.

    Args:
        cells: The name of its column, or "", and the text of each cell, in order, both as a reader
            sees them.
        words: The most words of a proposition. A row with more is several, which all begin with the
            cells that name the row: those up to its first text. A cell is never cut here.
    """
    parts: dict[int, str] = {}
    for place, (name, text) in enumerate(cells):
        if text.strip():
            parts[place] = _labelled(name, text)
    if not parts:
        return []
    whole = _joined(parts.values())
    if count_words(whole) <= words:
        return [RowFact(whole, tuple(parts))]
    key = _key(cells)
    places = [place for place in key if place in parts]  # the first fact is also about them
    heads = [parts[place] for place in places]
    facts: list[RowFact] = []
    chosen = list(heads)
    size = head_size = count_words("; ".join(heads))
    for place, part in parts.items():
        if place in key:
            continue
        length = count_words(part)
        if len(chosen) > len(heads) and size + length > words:
            facts.append(RowFact(_joined(chosen), tuple(places)))
            chosen = list(heads)
            places = []
            size = head_size
        chosen.append(part)
        places.append(place)
        size += length
    facts.append(RowFact(_joined(chosen), tuple(places)))
    return facts


def _joined(parts: Iterable[str]) -> str:
    """Return the cells of a row as one text; a cell that ends in a colon names the next."""
    return "; ".join(parts).replace(":; ", ": ")


def record_facts(passage: Unit) -> list[RecordFact]:
    """Return the propositions of a passage that is a row on lines of "name: value".

    It may be part of a row as well; other texts have none.

    Such are the rows of CSV files, from this package and from LangChain's `CSVLoader`. The first
    line may be the row's name alone. A row whose cells are in the metadata is certain. In other
    texts all lines but the first must be fields with different, short names, and some of the values
    no sentences, as a conversation has them; and no heading may say what each line is about.
    """
    is_row = _is_row(passage)
    if not is_row and (passage.title or passage.section or _ITEM.match(passage.text)):
        return []
    fields = _fields(passage.text, is_row=is_row)
    # The row's name is in the passage before, and perhaps that of its first cell.
    if is_row and passage.start > 0:
        if not fields[0].name:
            fields[0] = fields[0]._replace(name=_continued(fields[0].value, passage.metadata))
        names = {field.name for field in fields}
        above = [field for field in _names_in(passage.metadata) if field.name not in names]
        fields = [*above, *fields]
    pieces: list[_Field] = []
    for field in fields:
        pieces += _pieces(field, passage.text)
    if not is_row and passage.visible:  # as a reader sees them
        for place, piece in enumerate(pieces):
            pieces[place] = piece._replace(name=_seen(piece.name), value=_seen(piece.value))
    facts: list[RecordFact] = []
    for fact in row_facts([(piece.name, piece.value) for piece in pieces]):
        placed = [pieces[place] for place in fact.cells if pieces[place].end]
        if placed:
            start = min(piece.start for piece in placed)
            end = max(piece.end for piece in placed)
            facts.append(RecordFact(fact.text, passage.start + start, passage.start + end))
    return facts


def _seen(text: str) -> str:
    """Return what a reader sees of a name or a value in Markdown."""
    return inline(text, range(len(text))).text


def _is_row(passage: Unit) -> bool:
    """Return whether a text has a line for one of the cells in its metadata.

    Readers of tables write such lines. The text may also be part of a cell.
    """
    source = str(passage.metadata.get("source", "")).lower()
    if not source.endswith(_TABLE_ENDINGS):
        return False
    lines = [line[0].strip() for line in _LINE.finditer(passage.text)]
    if passage.start > 0 and lines and _continued(lines[0], passage.metadata):
        return True
    for line in lines:
        cell = _CELL.match(line)
        if cell and cell["name"] in passage.metadata:
            return True
    return False


def _continued(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the name of the cell that a text is part of, or ""."""
    start = text[:_COMPARED]
    for name, value in metadata.items():
        if isinstance(value, str) and start in value and name != "source":
            return name
    return ""


def _pieces(field: _Field, text: str) -> list[_Field]:
    """Cut a cell with a long text between its sentences."""
    if count_words(field.value) <= LONGEST_PIECE:
        return [field]
    source = text[field.start : field.end]
    pieces: list[_Field] = []
    size = 0
    for start, end in sentence_spans(source):
        words = count_words(source[start:end])
        if pieces and size + words <= LONGEST_PIECE:
            size += words
            pieces[-1] = pieces[-1]._replace(end=field.start + end)
        else:
            size = words
            pieces.append(_Field(field.name, "", field.start + start, field.start + end))
    label = source.find(field.value[:_COMPARED])
    for place, piece in enumerate(pieces):
        start = piece.start
        if place == 0:
            start = max(start, field.start + max(label, 0))
        pieces[place] = piece._replace(value=text[start : piece.end])
    return [piece for piece in pieces if piece.value.strip()]


def cell_pieces(text: str) -> list[Span]:
    """Return the parts of a cell's text, of several sentences each, as spans in it.

    A short text is one part.
    """
    if count_words(text) <= LONGEST_PIECE:
        return [(0, len(text))]
    parts: list[Span] = []
    size = 0
    for start, end in block_sentences(text):
        words = count_words(text[start:end])
        if parts and size + words <= LONGEST_PIECE:
            parts[-1] = (parts[-1][0], end)
            size += words
        else:
            parts.append((start, end))
            size = words
    return parts


def _names_in(metadata: Mapping[str, Any]) -> list[_Field]:
    """Return the cells that name a row from its metadata, without a place in the text."""
    cells = [(name, str(value)) for name, value in metadata.items() if name != "source"]
    key = _key(cells)
    return [_Field(*cells[place], 0, 0) for place in key]


def _labelled(name: str, text: str) -> str:
    value = " ".join(text.split())
    if not name.strip():
        return value
    name = " ".join(name.split())
    return f"{name}: {value}"


def _key(cells: Sequence[tuple[str, str]]) -> range:
    """Return the places of the cells that name a row.

    These are its first short text, and what stands before it; a row without a text has none.
    """
    for place, (_, text) in enumerate(cells):
        if text.strip() and not NUMBER.fullmatch(text.strip()) and count_words(text) <= _KEY_WORDS:
            first = 0 if place < _KEY_CELLS else place
            return range(first, place + 1)
    return range(0)


def _fields(text: str, *, is_row: bool) -> list[_Field]:
    """Return the fields of a row; none if the text is no row."""
    pattern = _CELL if is_row else _FIELD
    fields: list[_Field] = []
    for line in _LINE.finditer(text):
        source = line[0].strip()
        if not source:
            continue
        start = line.start() + line[0].index(source)
        end = start + len(source)
        match = pattern.match(source)
        if match and (is_row or _is_name(match["name"])):
            fields.append(_Field(match["name"], match["value"] or "", start, end))
        elif not fields:
            fields.append(_Field("", source, start, end))
        elif is_row:
            last = fields[-1]
            fields[-1] = last._replace(value=f"{last.value} {source}", end=end)
        else:
            return []
    if is_row or _is_record(fields):
        return fields
    return []


def _is_name(name: str) -> bool:
    return count_words(name) <= _NAME_WORDS and not _SENTENCE_MARK.search(name)


def _is_record(fields: Sequence[_Field]) -> bool:
    named = [field for field in fields if field.name]
    names = {field.name for field in named}
    if _MAIL.issuperset(map(str.lower, names)):
        return False
    if len(named) < 2 or len(names) < len(named):
        return False
    title = fields[0].value if not fields[0].name else ""
    if count_words(title) > _KEY_WORDS or _SENTENCE_MARK.search(title):
        return False
    values = [field.value for field in named if field.value]
    return len(values) >= 2 and not all(map(_SENTENCE_END.search, values))
