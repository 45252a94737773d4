"""Texts with times.

Subtitles (SRT, WebVTT), whose cues are joined to sentences, and the entries of logs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from factoid.errors import InvalidInputError

SUBTITLE_ENDINGS = frozenset({".srt", ".vtt"})
LOG_ENDING = ".log"

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"\s*(?P<start>{_TIME})\s*-->\s*(?P<end>{_TIME})(?:\s.*)?\Z")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]+)>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:[bicuvi]|ruby|rt|lang|font|c)\b[^<>]*>|<[\d:.]+>|\{\\[^{}]*\}", re.IGNORECASE
)
_DASH = re.compile(r"[-–—]\s*(?=\S)")  # begins what another person says
_SENTENCE_END = re.compile(r"[.!?…。！？♪][\"'”’»)\]]*\Z")
_MOST_WORDS = 60  # of cues that are joined: what is recognised from speech may have no full stop
_LONGEST_GAP = 3.0  # seconds within a sentence

# When a log's entry was written, within its first characters, as one of the formats that are
# understood.
_HEAD = 80  # characters
_HALF = r"[ \u00a0\u202f]?[AaPp](?:[Mm]\b|\.[Mm]\.)"  # of the day, behind the hours of a clock
_FRACTION = r"(?:[.,]\d{1,9})?"
_GLOG = re.compile(
    rf"\A[IWEF](?P<glog>(?:\d{{4}})?\d{{4}} \d{{2}}:\d{{2}}:\d{{2}}{_FRACTION})(?!\d)"
)
_STAMPS = (
    re.compile(
        rf"(?<!\d)(?P<iso>\d{{4}}[-/]\d{{2}}[-/]\d{{2}}[T\s]\d{{2}}:\d{{2}}:\d{{2}}{_FRACTION}"
        rf"(?:\s?(?:Z|[+-]\d{{2}}:?\d{{2}})|{_HALF})?)(?!\d)"
    ),
    re.compile(r"(?<!\d)(?P<web>\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2}(?: [+-]\d{4})?)"),
    re.compile(
        r"\A\W?(?P<text>(?:[A-Z][a-z]{2},? )?[A-Z][a-z]{2} +\d{1,2}(?:,? \d{4},?)? "
        rf"\d{{1,2}}:\d{{2}}:\d{{2}}{_FRACTION}(?:{_HALF})?(?: \d{{4}})?)"
    ),
    re.compile(
        r"\A\W?(?P<words>\d{1,2}[ -][A-Z][a-z]{2}[ -]\d{4},? "
        rf"\d{{1,2}}:\d{{2}}:\d{{2}}{_FRACTION}(?:{_HALF})?)(?!\d)"
    ),
    re.compile(
        r"\A\W?(?P<plain>(?:\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T,]+)?\d{1,2}:\d{2}:\d{2}"
        rf"{_FRACTION}(?:{_HALF})?)(?!\d)"
    ),
    re.compile(
        r"\A\W?(?P<minutes>\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T,]+\d{1,2}:\d{2}"
        rf"(?:{_HALF})?)(?![\d:])"
    ),
    _GLOG,
)
_AFTERNOON = re.compile(r"(?P<clock>.*\d)\s*(?P<half>[ap])\.?m\.?", re.IGNORECASE | re.DOTALL)
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE"
_LEVEL = re.compile(rf"\b(?:{_LEVELS})\b", re.IGNORECASE)
_GLOG_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
# What else begins an entry: a level, such as "[error]" or "ERROR:", or a day.
_LEVEL_HEAD = rf"(?:[\[(<]\s*(?i:{_LEVELS})\s*[\])>]|(?:{_LEVELS})(?=[\s:|]|\Z))"
_BEGINS = re.compile(rf"\A{_LEVEL_HEAD}")
_DAY = re.compile(
    rf"\A(?:{_LEVEL_HEAD}[\s:|]*)?\W?(?P<day>\d{{4}}([-/])\d{{2}}\2\d{{2}})(?![\w/-])"
)
_ANSI = re.compile(  # what a terminal does not show: colours, links, moves of the cursor
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]+[0-~]|\x1b[0-~]"
)
_MOST_LINES = 1000  # of an entry, such as a trace of calls


class TimedText(NamedTuple):
    """A text and what is known about it, such as its time."""

    text: str
    metadata: dict[str, str | int]
    line: int  # at which it begins, from 1


@dataclass(slots=True)
class _Spoken:
    """The speech of one person, in one or more cues."""

    start: str
    end: str
    speaker: str
    line: int
    parts: list[str] = field(default_factory=list)

    @property
    def words(self) -> int:
        return sum(len(part.split()) for part in self.parts)


def read_subtitles(text: str) -> list[TimedText]:
    """Return the sentences of subtitles in SRT or WebVTT.

    Cues are joined up to the end of a sentence, another speaker or a longer silence; one that names
    no speaker goes on with an open sentence. A line that a cue repeats from the one before is left
    out. The metadata holds `time` and `end_time`, as in "00:01:02.500", and the `speaker`, if the
    cue names one; the text then begins with the name.

    Raises:
        InvalidInputError: There is no cue.
    """
    results: list[TimedText] = []
    spoken: _Spoken | None = None
    is_empty = True
    last_lines: list[str] = []
    for start, end, number, lines in _cues(text):
        is_empty = False
        fresh = lines
        speaker = ""
        if fresh[:1] == last_lines[-1:]:  # captions that roll up
            voice = _VOICE.search("".join(fresh[:1]))
            speaker = voice[1].strip() if voice else ""
            fresh = fresh[1:]
        last_lines = [line for line in lines if line.strip()]
        for name, part in _parts(fresh, speaker):
            if spoken and not _continues(spoken, start, name, part):
                results.append(_timed(spoken))
                spoken = None
            spoken = spoken or _Spoken(start, end, name.lstrip("-"), number)
            spoken.parts.append(part)
            spoken.end = end
    if spoken:
        results.append(_timed(spoken))
    if is_empty:
        raise InvalidInputError(
            'expected subtitles with times as in "00:00:01,000 --> 00:00:04,000", '
            "and there are none"
        )
    return results


def _cues(text: str) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield the start, the end, the line and the lines of the text of each cue."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        timing = _TIMING.match(lines[place].strip("\r\ufeff"))
        place += 1
        if timing is None:
            continue
        number = place
        content: list[str] = []
        while place < len(lines) and lines[place].strip():
            if _TIMING.match(lines[place].strip("\r")):  # the blank line before it is missing
                content = content[:-1] if content and content[-1].strip().isdigit() else content
                break
            content.append(lines[place].strip())
            place += 1
        yield _clock(timing["start"]), _clock(timing["end"]), number, content


def _parts(lines: Iterable[str], speaker: str) -> Iterator[tuple[str, str]]:
    """Yield who speaks, or "", and what, for the lines of a cue.

    A line that begins with a dash is another person's.
    """
    texts: list[str] = []
    for line in lines:
        voice = _VOICE.search(line)
        plain = " ".join(html.unescape(_TAG.sub("", _VOICE.sub("", line))).split())
        dash = _DASH.match(plain)
        name = voice[1].strip() if voice else speaker
        if texts and (dash or name != speaker):
            yield speaker, " ".join(texts)
            texts = []
        speaker = name
        if dash:
            plain = plain[dash.end() :]
            speaker = f"-{name.lstrip('-')}"  # new, whoever it is
        if plain:
            texts.append(plain)
    if texts:
        yield speaker, " ".join(texts)


def _continues(spoken: _Spoken, start: str, speaker: str, text: str) -> bool:
    if speaker != spoken.speaker:
        # A cue may name nobody within a sentence. Another person's words begin with a capital, and
        # sounds with a bracket.
        is_within_sentence = not speaker and text[:1].islower()
        if not is_within_sentence:
            return False
    is_long = spoken.words >= _MOST_WORDS
    is_late = _seconds(start) - _seconds(spoken.end) > _LONGEST_GAP
    return not (is_long or is_late or _SENTENCE_END.search(spoken.parts[-1]))


def _timed(spoken: _Spoken) -> TimedText:
    text = " ".join(spoken.parts)
    metadata: dict[str, str | int] = {"time": spoken.start, "end_time": spoken.end}
    if spoken.speaker:
        metadata["speaker"] = spoken.speaker
        text = f"{spoken.speaker}: {text}"
    return TimedText(text, metadata, spoken.line)


def _clock(time: str) -> str:
    """Return a time as hours, minutes, seconds and thousandths, as in "00:01:02.500"."""
    whole, thousandths = re.split("[.,]", time)
    parts = list(map(int, whole.split(":")))
    hours, minutes, seconds = [0] * (3 - len(parts)) + parts
    return f"{hours:02}:{minutes:02}:{seconds:02}.{thousandths:0<3}"


def _seconds(clock: str) -> float:
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


# Logs


def read_log(lines: Iterable[tuple[int, str]]) -> Iterator[TimedText]:
    """Yield the entries of a log from its numbered lines.

    An entry begins with a line that has a time, or that begins with a level or a day. In a log
    without times, and before the first time, it is each line. Indented lines belong to the entry
    above. Colours of terminals are left out. The metadata holds the `time`, in ISO 8601 where the
    log gives date and time in digits, else as written, the `level`, such as "ERROR", and the `line`
    at which the entry begins.
    """
    entry: list[str] = []
    first = 0
    time = ""
    has_times = False
    for number, raw in lines:
        line = _ANSI.sub("", raw).rstrip()
        if not line.strip():
            continue
        stamp = _stamp(line)
        day = _day(line)
        has_level = bool(_BEGINS.match(line))
        has_times = has_times or bool(stamp) or (has_level and bool(day))
        begins = bool(stamp) or bool(day) or has_level
        goes_on = not begins and (has_times or line[0] in " \t") and len(entry) < _MOST_LINES
        if entry and not goes_on:
            yield _entry(entry, time, first)
            entry = []
        if not entry:
            first = number
            time = stamp or day
        entry.append(line)
    if entry:
        yield _entry(entry, time, first)


def _entry(lines: list[str], time: str, number: int) -> TimedText:
    metadata: dict[str, str | int] = {"line": number}
    if time:
        metadata["time"] = time
    if level := _level(lines[0]):
        metadata["level"] = level
    return TimedText("\n".join(lines), metadata, number)


def _level(line: str) -> str:
    """Return the level of an entry's first line, "" if it has none."""
    if _GLOG.match(line):
        return _GLOG_LEVELS[line[0]]
    if level := _LEVEL.search(line[: 2 * _HEAD]):
        return level[0].upper()
    return ""


def _stamp(line: str) -> str:
    """Return the time of a line, "" if it has none."""
    head = line[:_HEAD]
    if head[0] in " \t":
        return ""
    for pattern in _STAMPS:
        if match := pattern.search(head):
            return _iso(match)
    return ""


def _day(line: str) -> str:
    """Return the day with which a line begins, perhaps behind its level, "" if there is none."""
    if match := _DAY.match(line):
        return match["day"].replace("/", "-")
    return ""


def _iso(match: re.Match[str]) -> str:
    form = match.lastgroup or ""
    text = match[form]
    try:
        if form == "iso":
            return _moment(text).isoformat()
        if form == "minutes" and text[:4].isdigit():
            return _moment(text).isoformat()
        if form == "web":
            pattern = "%d/%b/%Y:%H:%M:%S %z" if " " in text else "%d/%b/%Y:%H:%M:%S"
            return datetime.strptime(text, pattern).isoformat()
        if form == "glog" and text[:8].isdigit():
            return datetime.fromisoformat(text.replace(",", ".")).isoformat()
    except ValueError:
        return text  # such as the 30th of February
    return text


def _moment(text: str) -> datetime:
    """Return a date and time in digits, with "PM" as a time of the afternoon."""
    text = text.replace("/", "-").replace(",", ".")
    halved = _AFTERNOON.fullmatch(text)
    if halved is None:
        return datetime.fromisoformat(text)
    moment = datetime.fromisoformat(halved["clock"])
    if not 1 <= moment.hour <= 12:
        return moment  # a clock of 24 hours
    afternoon = 12 if halved["half"] in "pP" else 0
    return moment.replace(hour=moment.hour % 12 + afternoon)
