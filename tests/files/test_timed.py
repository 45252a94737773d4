"""Subtitles and logs: sentences and entries with their times."""

from __future__ import annotations

import re

import pytest

from factoid.errors import UnreadableFileError
from factoid.files.readers import find_files, read_file
from tests.files.test_readers import write

SRT = """1
00:00:01,000 --> 00:00:03,500
<i>The mill stands</i>
on the hill

2
00:00:03,600 --> 00:00:05,000
and turns {\\an8}all day. It is

3
00:00:05,100 --> 00:00:06,000
old &amp; red.

4
00:00:06,500 --> 00:00:08,000
- Who owns it?
- Nobody.

5
01:00:00,000 --> 01:00:01,000
Later

6
01:00:09,000 --> 01:00:10,000
much later
"""


def entries(path):
    return [
        (
            document.text,
            {name: value for name, value in document.metadata.items() if name != "source"},
        )
        for document in read_file(path)
    ]


@pytest.mark.parametrize(
    "encode", [str.encode, lambda text: text.replace("\n", "\r\n").encode("utf-16")]
)
def test_cues_are_joined_to_sentences(tmp_path, encode):
    assert entries(write(tmp_path / "a.srt", encode(SRT))) == [
        (
            "The mill stands on the hill and turns all day. It is old & red.",
            {"time": "00:00:01.000", "end_time": "00:00:06.000"},
        ),
        ("Who owns it?", {"time": "00:00:06.500", "end_time": "00:00:08.000"}),
        ("Nobody.", {"time": "00:00:06.500", "end_time": "00:00:08.000"}),
        ("Later", {"time": "01:00:00.000", "end_time": "01:00:01.000"}),
        ("much later", {"time": "01:00:09.000", "end_time": "01:00:10.000"}),
    ]


def test_speakers_comments_and_captions_that_roll_up(tmp_path):
    text = (
        "WEBVTT\nKind: captions\n\nNOTE about --> nothing\n\nSTYLE\n::cue { color: red }\n\n"
        "a1\n00:01.000 --> 00:02.000 align:start\n<v.loud Ann Lee>The mill\n\n"
        "00:02.000 --> 00:03.000\n<v Ann Lee>turns.</v>\n\n00:03.000 --> 00:04.000\n<v Bo>No<00:03.500><c> it</c> stands\n\n"
        "00:04.000 --> 00:05.000\n<v Bo>No it stands\nstill\n"
    )
    text = text.replace("<v Bo>No it stands", "<v Bo>No<00:03.500><c> it</c> stands")
    assert entries(write(tmp_path / "a.vtt", text)) == [
        (
            "Ann Lee: The mill turns.",
            {"time": "00:00:01.000", "end_time": "00:00:03.000", "speaker": "Ann Lee"},
        ),
        (
            "Bo: No it stands still",
            {"time": "00:00:03.000", "end_time": "00:00:05.000", "speaker": "Bo"},
        ),
    ]


@pytest.mark.parametrize(
    ("cues", "texts"),
    [
        (
            ["<v Ann>The mill turns", "all day. It", "is red."],
            ["Ann: The mill turns all day. It is red."],
        ),
        (["<v Ann>The mill</v>", "turns."], ["Ann: The mill turns."]),
        # a sentence has ended, or somebody else speaks
        (["<v Ann>The mill turns.", "It is red."], ["Ann: The mill turns.", "It is red."]),
        (["<v Ann>The mill", "- No!"], ["Ann: The mill", "No!"]),
        (["<v Ann>The mill", "No, never."], ["Ann: The mill", "No, never."]),
        (["<v Ann>The mill", "[wind]", "<v Bo>Ah."], ["Ann: The mill", "[wind]", "Bo: Ah."]),
        (["The mill", "<v Ann>turns."], ["The mill", "Ann: turns."]),
        (["<v Ann>The mill", "<v Bo>No", "it stands."], ["Ann: The mill", "Bo: No it stands."]),
    ],
)
def test_a_cue_without_a_speaker_goes_on_with_an_open_sentence(tmp_path, cues, texts):
    lines = ["WEBVTT"]
    for number, cue in enumerate(cues):
        lines += ["", f"00:0{number}.000 --> 00:0{number + 1}.000", cue]
    path = write(tmp_path / "a.vtt", "\n".join(lines))
    assert [text for text, _ in entries(path)] == texts


def test_speech_without_full_stops_is_cut(tmp_path):
    cue = "00:00:{:02},000 --> 00:00:{:02},000\nten words that go on and on without an end {}"
    cues = "\n\n".join(cue.format(second, second + 1, second) for second in range(20))
    texts = [text for text, _ in entries(write(tmp_path / "a.srt", cues))]
    assert len(texts) == 4
    assert all(len(text.split()) < 80 for text in texts)


def test_a_file_without_cues_is_an_error(tmp_path):
    with pytest.raises(UnreadableFileError, match=r"a\.vtt: expected subtitles with times as in"):
        entries(write(tmp_path / "a.vtt", "WEBVTT\n\nNOTE nothing"))


def test_subtitles_are_found_in_folders_and_logs_if_named(tmp_path):
    for name in ("a.srt", "b.vtt", "c.log"):
        write(tmp_path / name, SRT)
    assert [path.name for path in find_files([tmp_path])] == ["a.srt", "b.vtt"]
    assert [path.name for path in find_files([tmp_path / "c.log"])] == ["c.log"]


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("2024-05-01 12:00:03,120 ERROR mill: broken", "2024-05-01T12:00:03.120000"),
        ("[2024-05-01T12:00:03Z] error broken", "2024-05-01T12:00:03+00:00"),
        ("2024/05/01 12:00:03 [error] 7#7: broken", "2024-05-01T12:00:03"),
        ('10.0.0.1 - - [01/May/2024:12:00:03 +0200] "GET /" error', "2024-05-01T12:00:03+02:00"),
        ("May  1 12:00:03 varn mill[7]: error", "May  1 12:00:03"),
        ("12:00:03.5 error: broken", "12:00:03.5"),
        # clocks of twelve hours
        ("03/09/2024 11:15:00 PM error: broken", "03/09/2024 11:15:00 PM"),
        ("3/9/2024, 9:15 p.m. - error: broken", "3/9/2024, 9:15 p.m."),
        ("Mar 09, 2024 9:15:00\u202fPM mill error", "Mar 09, 2024 9:15:00\u202fPM"),
        ("2024-03-09 11:15:00 PM error: broken", "2024-03-09T23:15:00"),
        ("2024/03/09 12:15:00am error: broken", "2024-03-09T00:15:00"),
        ("2024-03-09 23:15:00 PM error: broken", "2024-03-09T23:15:00"),
        ("2024-03-09 11:15:00 PMS error: broken", "2024-03-09T11:15:00"),
        # days in words, and without seconds
        ("[Sat Mar 09 11:15:00.25 2024] [mill:error]", "Sat Mar 09 11:15:00.25 2024"),
        ("09-Mar-2024 11:15:00.250 error broken", "09-Mar-2024 11:15:00.250"),
        ("2024-03-09 11:15 error broken", "2024-03-09T11:15:00"),
        ("[ERROR] 2024-03-09 broken", "2024-03-09"),
        # glog
        ("E0309 11:15:00.250000  12 mill.cc:7] broken", "0309 11:15:00.250000"),
        ("E20240309 11:15:00.25 12 mill.cc:7] no info", "2024-03-09T11:15:00.250000"),
        # colours of a terminal
        ("\x1b[2m11:15:00\x1b[0m \x1b[1;31mERROR\x1b[0m broken", "11:15:00"),
    ],
)
def test_entries_of_logs(tmp_path, line, time):
    trace = "Traceback (most recent call last):\n  File a.py"
    path = write(tmp_path / "a.log", f"{line}\n{trace}\n\n{line} again\n")
    first = {"line": 1, "time": time, "level": "ERROR"}
    shown = re.sub(r"\x1b\[[\d;]*m", "", line)
    assert entries(path) == [
        (f"{shown}\n{trace}", first),
        (f"{shown} again", first | {"line": 5}),
    ]


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("[warn] the belt slips", True),
        ("ERROR: the belt slips", True),
        ("WARNING the belt slips", True),
        ("W0309 11:15:01.5 12 mill.cc:7] the belt slips", True),
        ("<error> 2024/03/09 the belt slips", True),
        ("2024-03-09 the belt slips", True),
        # what a trace or a text of several lines holds
        ("Error: the belt slips", False),
        ("ERRORS: 2", False),
        ("[errors] 2", False),
        ("W1234 the belt slips", False),
        ("2024-03-09-belt.txt", False),
        ("2024 the belt slips", False),
        ("  [warn] the belt slips", False),
    ],
)
def test_entries_that_begin_without_a_time_among_others(tmp_path, line, begins):
    path = write(tmp_path / "a.log", f"2024-03-09 11:15:00 Started.\n{line}\n")
    texts = [text for text, _ in entries(path)]
    assert (texts[1:] == [line]) is begins


def test_marks_of_terminals_leave_their_text(tmp_path):
    link = "\x1b]8;;http://x.org\x1b\\the mill\x1b]8;;\x1b\\"
    path = write(tmp_path / "a.log", f"\x1b[0m\n\x1b[K\x1b(BSee {link} [0m] \x9b31mnow\x1b[m\n")
    assert entries(path) == [("See the mill [0m] now", {"line": 2})]


def test_a_log_without_times(tmp_path):
    path = write(tmp_path / "a.log", "Started.\nBroken:\n  at line 7\nStopped.\n")
    assert entries(path) == [
        ("Started.", {"line": 1}),
        ("Broken:\n  at line 7", {"line": 2}),
        ("Stopped.", {"line": 4}),
    ]
