"""Subtitles and logs: sentences and entries with their times."""

from __future__ import annotations

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
    ],
)
def test_entries_of_logs(tmp_path, line, time):
    trace = "Traceback (most recent call last):\n  File a.py"
    path = write(tmp_path / "a.log", f"{line}\n{trace}\n\n{line} again\n")
    first = {"line": 1, "time": time, "level": "ERROR"}
    assert entries(path) == [(f"{line}\n{trace}", first), (f"{line} again", first | {"line": 5})]


def test_a_log_without_times(tmp_path):
    path = write(tmp_path / "a.log", "Started.\nBroken:\n  at line 7\nStopped.\n")
    assert entries(path) == [
        ("Started.", {"line": 1}),
        ("Broken:\n  at line 7", {"line": 2}),
        ("Stopped.", {"line": 4}),
    ]
