"""Find the lines of plain text that start a unit of their own: items of lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from factoid.text.messages import timed_messages

# Of these, only the first row stands in running text as well, and needs white space behind it.
_DASHES = "-–*+·‣∙"
_BULLETS = "•●○◦◉■□▪▫◆◇►▶▸▹➢➤➔⁃❖❑❒\uf0a7\uf0b7\uf0d8\uf076\uf0fc\uf0be"
_BOXES = "☐☑☒✓✔✗✘"  # say something, and belong to their item
# Arrows, numbers in circles, emoji
_SIGNS = "\u2190-\u21ff\u2460-\u24ff\u25a0-\u27bf\u2b00-\u2bff\U0001f1e6-\U0001faff"
_START = re.compile(
    rf"""^[^\S\n]*+(?:
        (?P<bullet>(?:[{re.escape(_DASHES)}](?=[^\S\n])[^\S\n]*+
          |[{_BULLETS}][^\S\n]*+(?:\n(?!\s*[{_BULLETS}])[^\S\n]*+)?+))(?=\S)
      | (?P<dots>\.{{1,5}}[^\S\n]++)(?=[^\W_])
      | (?P<circle>o[^\S\n]++)(?=\S)
      | (?P<box>[{_BOXES}]|\[[ xX]\](?=[^\S\n]))
      | (?P<sign>[—»](?=[^\S\n])|[{_SIGNS}]\ufe0f?\u20e3?(?=\s?\S))
      | (?P<cell>\|)
      | (?P<number>\(?(?P<value>\d{{1,3}}|[ivxlcdm]{{1,7}}|[IVXLCDM]{{1,7}}|[A-Za-zа-яА-Я])
          (?P<close>[.)]|(?<=\d)-(?=[ ]))\)?)(?:[^\S\n]++(?=\S)|(?=[A-ZÀ-ÞА-Я][^\W\d_]))
      | (?P<mark>\[(?P<citation>\d{{1,3}})\][^\S\n]++(?=\S)
        |(?P<ordinal>\d{{1,2}})[º°ª][.)]?[^\S\n]++(?=[^\W\d_]{{2}})
        |(?P<lettered>[A-Za-z](?:\.\d{{1,2}}){{1,4}})[.)]?[^\S\n]++(?=["“„«(]?[^\W\d_])
        |§[ \u00a0]?(?P<clause>\d{{1,3}})[^\S\n]++(?=\S)
          |(?P<outline>\d{{1,2}}(?:\.\d{{1,2}}){{1,4}})[.)]?[^\S\n]++(?=["“„«(]?[^\W\d_])
          |(?P<whole>\d{{1,2}})[^\S\n]++(?=[A-ZÀ-ÞΑ-ΩА-Я])
          |(?P<chinese>\d{{1,2}}|[一二三四五六七八九十]{{1,2}})、)
      )""",
    re.MULTILINE | re.VERBOSE,
)
# A short line that begins with an amount: "2 eggs", "100 g flour", "1½ cups milk"
_AMOUNT = re.compile(
    r"\d{1,4}(?:[.,/]\d{1,3})?(?:[^\S\n]?[-–][^\S\n]?\d{1,4})?[^\S\n]?[½¼¾⅓⅔⅛]?"
    r"(?:[^\S\n]+|(?=(?:k?g|mg|m?l|[cd]l|oz|lbs?|x|cups?|tsp|tbsp|EL|TL)\b))[^\W\d_]"
    r"|[½¼¾⅓⅔⅛][^\S\n]*[^\W\d_]"
)
_AMOUNT_CHARS = 50  # of a line with an amount; wrapped lines are longer
_AMOUNT_LINES = 3  # fewest lines that show a list
_OUTLINE_CHARS = 50  # of a line of an outline
_CODE_SIGN = re.compile(r"[={};<>\\$|#@]|\w\(")
_AGAIN = re.compile(rf"[^\S\n](?P<bullet>[{_BULLETS}])[^\S\n]*+(?=\S)")  # "• one • two"
_BULLET_AFTER_COLON = re.compile(rf"(?<=[:：])[^\S\n]++(?P<bullet>[{_BULLETS}])[^\S\n]*+(?=\S)")
_NUMBER_AND_MARK = re.compile(r"\d[.)]")
_NUMBER_IN_LINE = re.compile(r"(?<!\S)(?P<value>\d{1,2})(?:\.\)|[.)])[^\S\n]++(?P<first>\S)")
_ITEM_NUMBER = re.compile(
    r"\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5}|[IVX]{1,5})(?:[.)]|(?<=\d)-)[ \t]+(?=\S)"
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_CHINESE = "零一二三四五六七八九"
_ENDS = ".:;!?,…。：；！？，"
_NEARBY = 200  # characters


class LineStart(NamedTuple):
    """A line that starts a unit.

    Args:
        mark: Where its mark stands.
        text: Where its text starts: behind a bullet, at a number, which is part of the text.
    """

    mark: int
    text: int


def line_spans(text: str) -> list[tuple[int, int]]:
    """Return where each line of a text begins and ends, without the line feeds."""
    spans = []
    start = 0
    for line in text.split("\n"):
        spans.append((start, start + len(line)))
        start += len(line) + 1
    return spans


@lru_cache(256)  # it is asked for blocks of a text, and again for the sentences in each
def line_starts(text: str) -> Sequence[LineStart]:
    """Find the lines of a plain text that start a unit of their own, in order.

    A bullet, a box or a table's bar starts one. A number or a letter ("1.", "2)", "(a)", "ii.")
    does if the number before or after it starts a line as well, or if the line above ends in a mark
    of punctuation: wrapped lines begin with "1990. The" and "I. Newton", too. Where a line starts
    with a bullet, the same bullet within it starts a unit as well, and so do numbers in a line. The
    time of a message before the one who wrote it is a mark, too, and so is an amount ("2 eggs") on
    each of several short lines.
    """
    matches = list(_START.finditer(text))
    starts = [*_numbers_in_line(text), *_bullets_in_line(text)]
    starts += [LineStart(time, speaker) for time, speaker in timed_messages(text)]
    starts += _amounts(text)
    if matches:
        starts += _starts_of_lines(text, matches)
    return sorted(set(starts))


def _starts_of_lines(text: str, matches: Sequence[re.Match[str]]) -> list[LineStart]:
    in_order = _in_order([match for match in matches if match["number"]])
    numbered = _numbered(matches)
    dots = sum(1 for match in matches if match["dots"])  # marks of ordered lists in AsciiDoc
    signs = [match.start() for match in matches if match["sign"]]
    circles = _circles(matches)
    is_below_bullet = False
    starts = []
    for match in matches:
        if match[
            "circle"
        ]:  # the letter that stands for a round bullet, below others or above another
            if is_below_bullet or match.start() in circles:
                starts.append(LineStart(match.start("circle"), match.end("circle")))
            continue
        is_below_bullet = match["bullet"] is not None
        if match["dots"]:
            if dots > 1:
                starts.append(LineStart(match.start("dots"), match.end("dots")))
            continue
        if match["sign"]:
            if len(signs) > 1:
                starts.append(LineStart(match.start("sign"), match.start("sign")))
        elif match["mark"]:
            if match.start() in numbered:
                starts.append(LineStart(match.start("mark"), match.start("mark")))
        elif match["number"]:
            above = _last_before(text, match.start())
            if match.start() in in_order or not above or above in _ENDS:
                starts.append(LineStart(match.start("number"), match.start("number")))
        elif bullet := match["bullet"]:
            starts.append(LineStart(match.start("bullet"), match.end("bullet")))
            starts += _same_bullets(text, match.end(), bullet.strip())
        else:
            mark = "box" if match["box"] else "cell"
            at = match.start(mark)
            starts.append(LineStart(at, at))
    return starts


def _circles(matches: Sequence[re.Match[str]]) -> set[int]:
    """Return the places of letters that stand for round bullets, as they are copied out of Word.

    "o" is a word in some languages: two lines in a row begin with it, and a capital letter or a tab
    stands behind it.
    """
    circles = []
    for match in matches:
        if match["circle"] and ("\t" in match["circle"] or _is_upper(match.string, match.end())):
            circles.append(match)
    for above, below in pairwise(circles):
        if _line_end(above.string, above.end()) + 1 == below.start():
            return {match.start() for match in circles}
    return set()


def _is_upper(text: str, at: int) -> bool:
    return text[at : at + 1].isupper()


def _amounts(text: str) -> list[LineStart]:
    """Return the lines of a list without marks whose items begin with amounts, as in a recipe.

    They are several short lines in a row without a stop. Below them may stand lines without an
    amount ("Salt").
    """
    if text.count("\n") + 1 < _AMOUNT_LINES:
        return []
    starts: list[LineStart] = []
    run: list[LineStart] = []
    amounts = 0
    for start, end in [*line_spans(text), (len(text), len(text))]:
        line = text[start:end].strip()
        is_short = 0 < len(line) <= _AMOUNT_CHARS and line[-1] not in _ENDS
        has_amount = is_short and _AMOUNT.match(line) is not None
        if has_amount or (is_short and run and line[0].isupper()):
            at = start + text[start:end].index(line)
            run.append(LineStart(at, at))
            amounts += has_amount
            continue
        if amounts >= _AMOUNT_LINES and not line[:1].islower():
            starts += run
        run = []
        amounts = 0
    return starts


def outline_starts(text: str) -> list[LineStart]:
    """Return the lines of an outline, which has no marks but its indentation.

    Its lines are short and have no stops. They have three depths at least, and two lines of one
    depth, which begin with a capital or a number, have lines below: verse and addresses are not
    like this. A single line at the margin is the outline's title, and
    starts nothing.
    """
    spans = line_spans(text)
    starts: list[LineStart] = []
    columns: list[int] = []
    for start, end in spans:
        line = text[start:end].strip()
        if not line or len(line) > _OUTLINE_CHARS or line[-1] in _ENDS or _CODE_SIGN.search(line):
            return []
        column = text[start:end].index(line)
        starts.append(LineStart(start + column, start + column))
        columns.append(column)
    parents: Counter[int] = Counter()  # by the column
    for place, (above, below) in enumerate(pairwise(columns)):
        if columns[0] < above < below:
            parents[above] += 1
            if text[starts[place].mark].islower():
                return []
    if min(columns) < columns[0] or max(parents.values(), default=0) < 2:
        return []
    is_titled = columns.count(columns[0]) == 1
    return starts[is_titled:]


def _in_order(numbers: Sequence[re.Match[str]]) -> set[int]:
    """Return the places of numbers that follow another one or stand before the next.

    The other number is in the same list or in one within it.

    A list within an item is more indented than it, and does not end the list around it.
    """
    places: set[int] = set()
    # The last numbers with their columns, outermost first.
    above: list[tuple[int, re.Match[str]]] = []
    for match in numbers:
        column = match.start("number") - match.start()
        while above and above[-1][0] > column:
            above.pop()
        values = _values(match["value"])
        if above and above[-1][0] == column:
            _, before = above.pop()
            if _is_next(_values(before["value"]), values):
                places.update((before.start(), match.start()))
        elif above and 1 in values and above[-1][1].start() in places:
            places.add(match.start())
        above.append((column, match))
    for first, second in pairwise(numbers):
        if _is_next(_values(first["value"]), _values(second["value"])):
            places.update((first.start(), second.start()))
    return places


def _is_next(before: Set[int], values: Set[int]) -> bool:
    """Return whether one of the values of a number is the next after one of another."""
    return any(value - 1 in before for value in values)


def _numbered(matches: Sequence[re.Match[str]]) -> set[int]:
    """Return the places of lines with other numbers that follow each other in order.

    Such numbers are "[1]", "§ 1", "1.1" and "一、".
    """
    places: set[int] = set()
    for name in ("citation", "clause", "chinese", "ordinal"):
        lines = [match for match in matches if match[name]]
        for first, second in pairwise(lines):
            if _number(second[name]) == _number(first[name]) + 1:
                places.update((first.start(), second.start()))
    lettered = [match for match in matches if match["lettered"]]
    for first, second in pairwise(lettered):
        if _follows(_path(first["lettered"]), _path(second["lettered"])):
            places.update((first.start(), second.start()))
    before: tuple[int, ...] = ()
    last = -1
    for match in matches:
        written = match["outline"] or match["value"] or match["whole"] or ""
        if not match["outline"] and not written.isdigit():
            continue
        path = tuple(map(int, written.split(".")))
        is_after_part = len(before) > 1 and path[0] == before[0] + 1
        if match["whole"] and before and not is_after_part:
            continue  # "2 Fees" counts behind "1.4" and before "2.1"
        if before and match["outline"] and _follows(before, path):
            places.update((last, match.start()))
        before = path
        last = match.start()
    return places


def _path(lettered: str) -> tuple[int, ...]:
    """Return the parts of a number like a.2 as numbers."""
    letter, *numbers = lettered.split(".")
    return (ord(letter.lower()), *map(int, numbers))


def _follows(before: tuple[int, ...], path: tuple[int, ...]) -> bool:
    """Return whether a number like 2.1 follows one like 1.3, 2.0 or 2."""
    depth = len(path) - 1
    if path[:depth] == before[:depth]:
        if len(before) <= depth:
            return path[depth] == 1
        return path[depth] == before[depth] + 1
    return (
        path[depth] == 1
        and path[: depth - 1] == before[: depth - 1]
        and path[depth - 1] == before[depth - 1] + 1
    )


def _number(written: str) -> int:
    """Return the value of a number in digits or in Chinese characters.

    Chinese numbers are read up to two characters.
    """
    if written.isdigit():
        return int(written)
    tens, ten, ones = written.rpartition("十")
    first = _CHINESE.find(tens) if tens else 1
    return (first * 10 if ten else 0) + (_CHINESE.find(ones) if ones else 0)


def _last_before(text: str, at: int) -> str:
    """Return the last character before a place but for white space, "" if none is nearby."""
    return text[max(0, at - _NEARBY) : at].rstrip()[-1:]


def number_length(item: str) -> int:
    """Return how many characters the number at the start of an item takes.

    The space behind the number counts; without a number the result is 0.
    """
    number = _ITEM_NUMBER.match(item)
    return number.end() if number else 0


def is_bullet(text: str) -> bool:
    """Return whether a text is a bullet and nothing else."""
    return len(text) == 1 and (text in _DASHES or text in _BULLETS)


def _bullets_in_line(text: str) -> list[LineStart]:
    """Return the items of a list on the line of its introduction.

    "Services: • repair • cleaning" has two items.
    """
    if ":" not in text and "：" not in text:
        return []
    starts = []
    covered: dict[str, int] = {}  # how far the list of each bullet reaches that was found last
    for match in _BULLET_AFTER_COLON.finditer(text):
        bullet = match["bullet"]
        if match.start() < covered.get(bullet, 0):
            continue
        covered[bullet] = _line_end(text, match.end())
        items = [
            LineStart(match.start("bullet"), match.end()),
            *_same_bullets(text, match.end(), bullet),
        ]
        if len(items) > 1:
            starts += items
    return starts


def _numbers_in_line(text: str) -> list[LineStart]:
    """Return the items of a list on one line: "1. Open it 2. Wait 3. Close it".

    The list starts the text or follows a colon. Items in lower case are clauses of a sentence: "in
    three parts: 1) the stem, 2) …".
    """
    if not _NUMBER_AND_MARK.search(text):
        return []
    numbers: list[re.Match[str]] = []
    for match in _NUMBER_IN_LINE.finditer(text):
        value = int(match["value"])
        if match["first"].islower():
            continue
        is_next = value == len(numbers) + 1
        if is_next and (numbers or _last_before(text, match.start()) in ("", ":")):
            numbers.append(match)
    if len(numbers) < 2 or (len(numbers) == 2 and _last_before(text, numbers[0].start())):
        return []
    return [LineStart(match.start(), match.start()) for match in numbers]


def _values(written: str) -> set[int]:
    """Return what a number may mean: "i" is 1 and, as a letter, 9."""
    if written.isdigit():
        return {int(written)}
    values = set()
    lower = written.lower()
    if len(lower) == 1:
        values.add(ord(lower) - ord("a") + 1 if lower <= "z" else ord(lower))
    if all(letter in _ROMAN for letter in lower):
        number = 0
        following = 0
        for letter in reversed(lower):
            digit = _ROMAN[letter]
            number += -digit if digit < following else digit
            following = digit
        values.add(number)
    return values


def _same_bullets(text: str, start: int, bullet: str) -> list[LineStart]:
    if bullet not in _BULLETS:
        return []
    starts = []
    for match in _AGAIN.finditer(text, start, _line_end(text, start)):
        if match["bullet"] == bullet:
            starts.append(LineStart(match.start("bullet"), match.end()))
    return starts


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
