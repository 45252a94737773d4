"""Cut a paragraph into what stands in its lines.

These are rows of a table, items of a list, and what they go on from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, pairwise

from factoid.text.blocks import Block, BlockKind, Lead, Visible, picked, protected_within
from factoid.text.heading_lines import is_caption, is_sentence, names_paragraphs
from factoid.text.introductions import introduces, names_list
from factoid.text.lines import LineStart, line_spans, line_starts, number_length, outline_starts
from factoid.text.plain_headings import heading_cuts
from factoid.text.sentence_ends import block_sentences
from factoid.words import count_words

# A part of a source without the marks before its lines, and the place of each of its characters.
Source = tuple[str, Sequence[int]]
Read = Callable[[str, Sequence[int]], Visible]

# Characters of a line. Text is not wrapped at this width: every line is a paragraph.
UNWRAPPED = 200
LONGEST_LEAD = 30  # words; more would outweigh what goes on from it
_GOES_ON = (":", "：")
_QUESTION = ("?", "？")
SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")
_SENTENCE_END = re.compile(r"[.!?…。！？;][\"'”’)\]]*\Z")
_CAPTION = re.compile(
    r"(?:Table|Tab\.|Tabelle|Tableau|Tabla|Tabella|Tabel|Таблица|表)\s?(?:\d|[IVX]+\b)",
    re.IGNORECASE,
)
_ROW = re.compile(r"[ \t]*+\|[^\n|]*+\|")
_RULE = re.compile(r"[ \t]*+\|?[ \t]*+:?-+:?[ \t]*+(?:\|[ \t]*+:?-+:?[ \t]*+)*+\|?[ \t]*+")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)[^`\n]{1,300}\1(?!`)")
_GRID_RULE = re.compile(r"[ \t]*+\+(?:[-=:]{2,}\+){1,100}[ \t]*+")
_CELL_END = re.compile(r"(?<!\\)\|")
_TERMINATORS = tuple('.!?:;…"”’)]。！？')
# Most words of a column's name, where nothing but the form of a table marks its header.
_NAME_WORDS = 5
NUMBER = re.compile(r"[-+−–~<>≤≥≈]?\s?[$€£¥]?\s?\d[\d.,' ]*\s?[%‰$€£¥]?")
_LABEL_WORDS = 5  # of a line that ends in a colon, above lines that each stand for themselves
_PHRASE_WORDS = 10  # of such a line; longer ones are sentences of one text
_DIGIT = re.compile(r"\d")
_FIRST_NUMBER = re.compile(r"\(?[1aAiI]\W")  # other letters before a name are initials
# Cells that are values, wherever they stand: numbers, days, and words for none and any.
_VALUE = re.compile(
    rf"{NUMBER.pattern}|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|(?:mon|tue|wed|thu|fri|sat|sun)\.?|closed|open|none|any|free"
    r"|unknown|n/?a|tb[ad]|yes|no|true|false|total|sum|[-–—.?]+",
    re.IGNORECASE,
)
# What columns are called.
_COLUMN_NAME = re.compile(
    r"(?:^|[ _/-])(?:names?|titles?|types?|kinds?|category|class|group|status|state|city|town"
    r"|country|region|location"
    r"|address|place|room|team|department|role|position|owner|author|contact|e-?mail|phone|tel\.?"
    r"|url|link|website"
    r"|dates?|day|month|year|time|hours"
    r"|from|to|start|end|begin|until|price|fare|cost|fee|amount|total|sum|quantity|qty|count|number"
    r"|no\.|nr\.?|id|code|key|value"
    r"|default|options?|flag|command|parameters?|arguments?|field|column|property|setting|variable"
    r"|description|meaning|purpose"
    r"|notes?|comments?|remarks?|examples?|result|output|unit|size|weight|length|width|height|color"
    r"|colour|model|version|item"
    r"|product|service|plan|currency|language|format|file|path|format|severity|priority|level|score"
    r"|rank|points)$",
    re.IGNORECASE,
)
# of lists, boxes to tick, tables and rules, without a word
ONLY_MARKS = re.compile(r"[-+*•‣–|:=~`_#>☐☒\s]+")
_WORD = re.compile(r"\w")
# Words that are struck out, which may name a row, and no number, price or day.
_STRUCK_NAME = re.compile(
    r"[\s|*_]*(?:~~|<(?:del|s|strike)(?:\s[^<>|]*)?>)[*_`\[]*[^\W\d_]", re.IGNORECASE
)


@dataclass
class Above:
    """The blocks above a block in its list, its quote or its text.

    Attributes:
        last: The block before it.
        leads: What all blocks of the list go on from, outermost first.
        level: The number of lists around it.
        is_item_start: Whether nothing of the item of a list was read yet.
        item: The first block of the item that is being read.
        is_bare: Of a list, whether nothing stands below the item that was read last; of an item,
            whether that is so of the item right above. What stands below a last item of such a list
            is about the list, or about something else.
        bare: The columns of items of a plain list of which that is so.
        has_code: Whether code stands in that item: it is then what a colon of the item leads to.
        items: The columns of items of a plain list, outermost first, each with what it goes on from
            and the last of them.
        again: What the list right above went on from: another list goes on from it, too.
        unfinished: The last block of that list, if it ends in a colon: the other list goes on from
            it.
        title: The title right above of an admonition, a tab or the like, which what is below it
            goes on from.
        around: Of a list that goes on from such a block, what the list above it went on from.
    """

    last: Block | None = None
    leads: tuple[Lead, ...] = ()
    level: int = 0
    is_item_start: bool = False
    item: Block | None = None
    is_bare: bool = False
    has_code: bool = False
    again: tuple[Lead, ...] = ()
    unfinished: Block | None = None
    title: tuple[Lead, ...] = ()
    around: tuple[Lead, ...] | None = None
    items: list[tuple[int, tuple[Lead, ...], Block]] = field(default_factory=list)
    bare: set[int] = field(default_factory=set)


def lead_of(
    block: Block | None, item: str | None = None, *, is_right_above: bool = False
) -> tuple[Lead, ...]:
    """Return what a list goes on from.

    It is a sentence that ends in a colon or introduces the list without one, a question that stands
    alone, or an item. The first sentence of an item is enough.

    Args:
        block: What stands above the list.
        item: The first item of the list, without its number; None where only a colon leads on.
        is_right_above: Whether no empty line stands between them, so that the block may be a label.
    """
    if block is None or block.kind not in ("paragraph", "item"):
        return ()
    visible = block.visible
    text = visible.text
    first = block.number
    last = len(text)
    if not text.endswith(_GOES_ON) and not _is_question(block) and block.kind != "item":
        if item is None:
            return ()
        introduction = _introduction(block, item, is_right_above=is_right_above)
        if introduction < 0:
            return ()
        first = introduction
    elif _SENTENCE_END.search(text) or text.endswith(_GOES_ON):
        sentences = block_sentences(text, visible.protected) or [(0, last)]
        place = -1 if text.endswith(_GOES_ON) else 0
        start, last = sentences[place]
        first = max(first, start)
    lead = text[first:last]
    if count_words(lead) > LONGEST_LEAD or not _WORD.search(lead):
        return ()
    start = block.start
    if first != block.number:
        start = widened_start(visible, visible.offsets[first], start)
    end = block.end
    if last != len(text):
        end = visible.offsets[last - 1] + 1
    return (Lead(start, end, " ".join(lead.split())),)


def label_of(item: Block | None) -> tuple[Lead, ...]:
    """Return what the paragraphs below an item of a list go on from: the item, if it is a label."""
    if item is None or not names_paragraphs(item.visible.text[item.number :]):
        return ()
    return lead_of(item)


def is_introduction(leads: Sequence[Lead]) -> bool:
    """Return whether what a list goes on from leads on to it, as no question does."""
    return bool(leads) and not leads[-1].text.endswith(SENTENCE_ENDS)


def _introduction(block: Block, item: str, *, is_right_above: bool) -> int:
    """Return where the introduction of a list begins in the paragraph above it, -1 without one."""
    text = block.visible.text
    if _SENTENCE_END.search(text):
        return -1
    start, _ = (block_sentences(text, block.visible.protected) or [(0, 0)])[-1]
    line = " ".join(text[start:].split())
    if introduces(line, item, is_sentence=is_sentence(line)):
        return start
    label = text.rfind("\n") + 1
    if label not in (0, *heading_cuts(text)):
        return -1  # the line goes on from the one above
    if not is_right_above or start > label or is_caption(text[label:]):
        return -1
    if names_list(text[label:], item):
        return label
    return -1


def _is_question(block: Block) -> bool:
    text = block.visible.text
    return text.endswith(_QUESTION) and len(block_sentences(text, block.visible.protected)) < 2


def caption_of(block: Block | None, *, in_list: bool = True) -> tuple[Lead, ...]:
    """Return what the rows of a table go on from.

    They go on from the table's caption, from a sentence that ends in a colon, or from the item
    that they are in.
    """
    if block is not None and block.kind == "item" and not in_list:
        return lead_of(block) if block.visible.text.endswith(_GOES_ON) else ()
    if block is not None and block.kind == "paragraph" and _CAPTION.match(block.visible.text):
        text = " ".join(block.visible.text.split())
        if count_words(text) <= LONGEST_LEAD:
            return (Lead(block.start, block.end, text),)
    return lead_of(block)


def paragraph_blocks(
    source: Source, read: Read, above: Above, kind: BlockKind = "paragraph"
) -> list[Block]:
    """Return the blocks of a paragraph: rows between bars, items of lists, and what else it holds.

    Args:
        source: The paragraph, line by line without the marks of quotes and lists before it.
        read: Returns what a reader sees of a part of it.
        above: What stands above; `last` is moved on.
        kind: What the first block is: an item of a list, or a paragraph.
    """
    text, places = source
    blocks: list[Block] = []
    lines = line_spans(text)
    for is_row, run in groupby(lines, lambda span: _is_row(text, *span)):
        spans = list(run)
        start = spans[0][0]
        end = spans[-1][1]
        if is_row and (len(spans) > 1 or len(lines) == 1 or _has_edges(text[start:end])):
            rows = [(text[first:last], places[first:last]) for first, last in spans]
            in_list = not above.items  # of Markdown: an item of a plain list ends with its lines
            blocks += table_blocks(rows, read, caption_of(above.last, in_list=in_list))
        else:
            visible = read(text[start:end], places[start:end])
            if start > 0:
                kind = "paragraph"
            if visible.text:  # else nothing is seen of a tag that stands alone, nor has it a place
                blocks += _text_blocks(visible, above, kind, places[start])
        if blocks:
            above.last = blocks[-1]
    return blocks


def table_blocks(lines: Sequence[Source], read: Read, leads: tuple[Lead, ...]) -> list[Block]:
    """Return the rows of a table from its lines. Below a header is a rule.

    A table without a rule has a header if the form of its first row says so.
    """
    rules = [number for number, (text, _) in enumerate(lines) if _is_rule(text)]
    rows: list[Block | None] = []
    columns = 0
    for number, line in enumerate(lines):
        if number not in rules:
            rows.append(_row(line, read, columns))
            row = rows[-1]
            if row and not columns:
                columns = len(row.cells)
    is_named = 1 in rules or (not rules and has_header(rows))
    is_grid = bool(lines) and _GRID_RULE.fullmatch(lines[0][0]) is not None
    if is_grid:  # the names stand above a rule of "=", or above the only rule within the table
        is_ruled_once = rules == [0, 2, len(lines) - 1] and len(lines) > 4
        is_below_names = 2 in rules and "=" in lines[2][0]
        is_named = is_named or is_below_names or is_ruled_once or has_header(rows)
    filled = [number for number, row in enumerate(rows) if row is not None]
    if rules == [1] and rows[0] is None:  # the rule stands below an empty line of names
        is_named = has_header([rows[number] for number in filled])
    header = filled[0] if is_named and filled else -1
    return named_rows(rows, header, leads)


def named_rows(rows: Sequence[Block | None], header: int, leads: tuple[Lead, ...]) -> list[Block]:
    """Return the rows of a table with the names of its columns.

    The row of the number `header` holds the names; -1 if none does.
    """
    names: tuple[str, ...] = ()
    blocks = []
    for number, row in enumerate(rows):
        if row is None:
            continue
        is_header = number == header
        if is_header:
            names = cell_texts(row)
            blocks.append(replace(row, is_header=True, names=(), leads=leads))
        else:
            blocks.append(replace(row, is_header=False, names=names, leads=leads))
    return blocks


def written_leads(block: Block) -> str:
    """Return what a block goes on from, as it stands before the block's text, outermost first."""
    leads = []
    for lead in block.leads:
        text = lead.text.rstrip(" .,。—–-") or lead.text
        if not text.endswith((*_GOES_ON, *SENTENCE_ENDS)):
            text = f"{text}:"
        leads.append(text)
    return " ".join(leads)


def cell_texts(row: Block) -> tuple[str, ...]:
    """Return the texts of the cells of a row."""
    return tuple(row.visible.text[start:end] for start, end in row.cells)


def joined(
    cells: Sequence[Visible], places: Sequence[int]
) -> tuple[Visible, tuple[tuple[int, int], ...]]:
    """Return the cells of a row as one text, and the span of each.

    In the text, " | " stands between those that are not empty.

    Args:
        cells: What a reader sees of each cell.
        places: Where in the source each cell but the first begins.
    """
    text: list[str] = []
    offsets: list[int] = []
    protected: list[tuple[int, int]] = []
    spans: list[tuple[int, int]] = []
    opening: dict[int, int] = {}
    closing: dict[int, int] = {}
    for number, cell in enumerate(cells):
        if offsets and cell.text:
            text.append(" | ")
            offsets += [places[number - 1]] * 3
        start = len(offsets)
        text.append(" ".join(cell.text.split("\n")))
        offsets += cell.offsets
        spans.append((start, len(offsets)))
        protected += [(start + first, start + last) for first, last in cell.protected]
        opening |= cell.opening
        closing |= cell.closing
    return Visible("".join(text), offsets, tuple(protected), opening, closing), tuple(spans)


def _row(line: Source, read: Read, columns: int = 0) -> Block | None:
    """Return a line of a table as a block, None if no cell holds anything.

    Bars in inline code end no cell if the table has fewer columns than the row would have cells.
    """
    text, places = line
    ends = [match.start() for match in _CELL_END.finditer(text)]
    edges = text.strip().startswith("|") + text.strip().endswith("|")
    if columns and len(ends) + 1 - edges > columns and "`" in text:
        inside: set[int] = set()
        for code in _CODE.finditer(text):
            inside.update(range(code.start() + 1, code.end()))
        outside = [end for end in ends if end not in inside]
        if columns - 1 <= len(outside) <= columns + 1:
            ends = outside
    bounds = [-1, *ends, len(text)]
    cells = []
    for start, end in pairwise(bounds):
        cells.append(_cell(text[start + 1 : end], places[start + 1 : end], read))
    starts = [places[end] for end in ends]
    if not text[: bounds[1]].strip() and ends:  # the bar at the left edge
        del cells[0]
        del starts[0]
    if len(cells) > 1 and not text[bounds[-2] + 1 :].strip():
        del cells[-1]
        del starts[-1:]
    if not any(cell.text for cell in cells):
        return None
    if columns and not cells[0].text and _STRUCK_NAME.match(text):
        return None  # what names the row holds no longer, and nor does the rest
    visible, spans = joined(cells, starts)
    stripped = text.strip()
    first = text.index(stripped)
    start = places[first]
    end = places[first + len(stripped) - 1] + 1
    return Block("row", start, end, visible, cells=spans)


def widened_start(visible: Visible, start: int, least: int = 0) -> int:
    """Return where the marks begin that open something right before a place in the source."""
    while start in visible.opening and visible.opening[start] >= least:
        start = visible.opening[start]
    return start


def widened_end(visible: Visible, end: int) -> int:
    """Return where the marks end that close something right behind a place in the source."""
    while end in visible.closing:
        end = visible.closing[end]
    return end


def _cell(text: str, places: Sequence[int], read: Read) -> Visible:
    if "\\|" in text:
        # The backslash before a bar is not shown.
        shown = [at for at in range(len(text)) if not text.startswith("\\|", at)]
        text, places = picked(text, places, shown)
    return read(text, places)


def _is_rule(line: str) -> bool:
    if _GRID_RULE.fullmatch(line):
        return True
    return "-" in line and _RULE.fullmatch(line.strip()) is not None


def _is_row(text: str, start: int, end: int) -> bool:
    return (
        _ROW.match(text, start, end) is not None
        or _GRID_RULE.fullmatch(text, start, end) is not None
    )


def _has_edges(line: str) -> bool:
    return line.rstrip().endswith("|")


def has_header(rows: Sequence[Block | None]) -> bool:
    """Return whether the first row of a table without a rule names its columns.

    Its cells are short and different, and no values. Evidence are a column of numbers, or of texts
    with digits, below a name without any; capitals that are not below; and words that columns are
    called by.
    """
    filled = [cell_texts(row) for row in rows if row is not None]
    if len(filled) < 2 or rows[0] is None:
        return False
    names, *below = filled
    is_distinct = len(names) > 1 and all(names) and len({*names}) == len(names)
    if not is_distinct:
        return False
    for name in names:
        if count_words(name) > _NAME_WORDS or _VALUE.fullmatch(name):
            return False
    columns: list[list[str]] = []
    for number, name in enumerate(names):
        values = [row[number] for row in below if number < len(row) and row[number]]
        if name in values:
            return False
        columns.append(values)
    if all(map(str.isupper, names)):
        first_values = chain.from_iterable(values[:2] for values in columns)
        if not any(map(str.isupper, first_values)):
            return True
    known = [name for name in names if _COLUMN_NAME.search(name)]
    if 2 * len(known) > len(names) and not any(map(_COLUMN_NAME.search, columns[0])):
        return True
    for name, values in zip(names, columns, strict=True):
        are_numbers = all(map(NUMBER.fullmatch, values))
        have_digits = (
            len(values) > 1 and all(map(_DIGIT.search, values)) and not _DIGIT.search(name)
        )
        is_pair = len(values) < 2 and len(names) < 3  # "Owner | Ann", "Phone | 555"
        if values and not is_pair and (are_numbers or have_digits):
            return True
    return False


def _text_blocks(visible: Visible, above: Above, kind: BlockKind, start: int) -> list[Block]:
    """Cut what a reader sees of a paragraph before each item of a list in it.

    Its first line begins at `start`.
    """
    text = visible.text
    if not text or ONLY_MARKS.fullmatch(text):
        return []
    listed_starts = set(line_starts(text) or outline_starts(text))
    marks = {start.mark for start in listed_starts}
    labels, labelled = _labelled_lines(text) if not marks else ([], [])
    listed_starts.update(labelled)
    marks.update(line.mark for line in labelled)
    apart = {*_unwrapped_lines(text), *labels}
    unwrapped = [line for line in apart if line.mark not in marks]
    starts = sorted([*listed_starts, *unwrapped])
    bounds = [(line.mark, line.text) for line in starts]
    if not starts or starts[0].mark > 0:
        bounds.insert(0, (0, 0))
    blocks: list[Block] = []
    for (mark, first), (end, _) in pairwise([*bounds, (len(text), 0)]):
        piece = part_of(visible, first, end)
        if not piece.text:
            continue
        is_item = (mark, first) in listed_starts
        block = Block(kind, *span_of(piece), piece, above.level)
        column = _column(visible, mark, start)
        if kind == "item":
            block = replace(block, leads=above.leads)
        elif is_item:
            block = replace(
                block, kind="item", level=above.level + 1, number=number_length(piece.text)
            )
            block = replace(
                block,
                leads=_leads_of_item(column, block, above, is_right_above=len(blocks) == 1),
            )
        elif above.items and column <= above.items[0][0]:
            above.items.clear()  # the list ends; an indented paragraph is one of its last item
        elif not blocks:
            block = replace(block, leads=_leads_below_item(column, above))
        blocks.append(block)
        above.last = block
        kind = "paragraph"
    return blocks


def _unwrapped_lines(text: str) -> list[LineStart]:
    """Return the lines that start a paragraph, in a text whose lines are not wrapped."""
    lines = line_spans(text)
    if not any(end - start > UNWRAPPED for start, end in lines):
        return []
    starts = []
    for (start, end), (begin, stop) in pairwise(lines):
        # A line that continues another (as in "CO⏎2") belongs to the one before.
        if text[start:end].rstrip()[-1:] in _TERMINATORS or text[begin:stop].lstrip()[:1].isupper():
            starts.append(LineStart(begin, begin))
    return starts


def _labelled_lines(text: str) -> tuple[list[LineStart], list[LineStart]]:
    """Return the labels of lists without marks, and the lines that are their items.

    A label stands alone on its line and ends in a colon. Each line below it ends in a full stop and
    is no clause: wrapped prose and several sentences about one thing are not like this.
    """
    labels: list[LineStart] = []
    items: list[LineStart] = []
    counts: list[int] = []  # of the items of each label
    for start, end in line_spans(text):
        line = text[start:end].strip()
        at = start + text[start:end].find(line)
        if line.endswith(_GOES_ON) and line[0].isupper() and count_words(line) <= _LABEL_WORDS:
            labels.append(LineStart(at, at))
            counts.append(0)
        elif labels and line.endswith(".") and _stands_alone(line):
            items.append(LineStart(at, at))
            counts[-1] += 1
        else:
            return [], []
    if not counts or max(counts) < 2 or min(counts) < 1:
        return [], []
    return labels, items


def _stands_alone(line: str) -> bool:
    """Return whether a line says something without the one above, and is no clause."""
    is_start = line[0].isupper() or line[0].isdigit()
    return is_start and count_words(line) <= _PHRASE_WORDS and not is_sentence(line.rstrip("."))


def _leads_of_item(
    column: int, block: Block, above: Above, *, is_right_above: bool
) -> tuple[Lead, ...]:
    """Return what an item of a plain list goes on from.

    These are the items above it that are less indented, and an introduction.
    """
    listed = above.items
    while listed and listed[-1][0] > column:
        listed.pop()
    is_below_number = (
        bool(listed) and listed[-1][0] == column and listed[-1][2].number > 0 and not block.number
    )
    above_item = listed[-1][2] if is_below_number else None
    is_child = (
        above_item is not None
        and above.last is not None
        and above.last.start == above_item.start
        and (above_item.visible.text.endswith(_GOES_ON) or bool(label_of(above_item)))
    )
    if block.number and any(at == column and item.number for at, _, item in listed):
        # Bullets that went on from a number.
        while listed[-1][0] != column or not listed[-1][2].number:
            listed.pop()
    above.bare.discard(column)
    if listed and listed[-1][0] == column and not is_child:
        _, leads, before = listed.pop()
        if above.last is not None and above.last.start == before.start:
            above.bare.add(column)
    else:
        words = None
        if not block.number or _FIRST_NUMBER.match(block.visible.text):
            words = block.visible.text[block.number :]
        introduction = lead_of(above.last, words, is_right_above=is_right_above)
        if listed and not is_introduction(introduction):
            introduction = lead_of(listed[-1][2])  # what the item is about, above its paragraphs
        outer = listed[-1][1] if listed else above.leads
        leads = (*outer, *introduction)
    listed.append((column, leads, block))
    return leads


def _leads_below_item(column: int, above: Above) -> tuple[Lead, ...]:
    """Return what an indented paragraph below an item of a plain list goes on from."""
    for item_column, leads, item in reversed(above.items):
        label = label_of(item)
        is_led_to = item_column not in above.bare or item.visible.text.endswith(_GOES_ON)
        if item_column < column and is_led_to and label:
            return (*leads, *label)
    return ()


def part_of(visible: Visible, start: int, end: int) -> Visible:
    """Return a part of what a reader sees, without white space at its ends."""
    text = visible.text[start:end]
    start += len(text) - len(text.lstrip())
    text = text.strip()
    end = start + len(text)
    inside = protected_within(visible.protected, start, end)
    # `_replace` takes three times as long.
    return Visible(
        text,
        visible.offsets[start:end],
        inside,
        visible.opening,
        visible.closing,
        visible.is_strong,
    )


def span_of(visible: Visible) -> tuple[int, int]:
    """Return the span in the source of what a reader sees, with the marks around it."""
    start = widened_start(visible, visible.offsets[0])
    end = widened_end(visible, visible.offsets[-1] + 1)
    return start, end


def _column(visible: Visible, at: int, start: int) -> int:
    """Return the column of the first word or mark in the line of a place.

    The column is one of the source, whose first line begins at `start`.
    """
    line_end = visible.text.rfind("\n", 0, at)
    line_start = visible.offsets[line_end] + 1 if line_end >= 0 else start
    first = line_end + 1
    while first < at and visible.text[first].isspace():
        first += 1
    return visible.offsets[first] - line_start
