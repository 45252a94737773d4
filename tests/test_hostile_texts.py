"""What reads a stranger's texts takes linear time, however they are made, and never ends in a raw
error.

`make test-all` tries 40 texts for each reader; with FACTOID_CAMPAIGN=300 in the environment it is
300, and each fragment.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from itertools import islice

import pytest

from tests.hostile_texts import (
    FRAGMENTS,
    NEEDS,
    READERS,
    alternating_lines,
    samples,
    seconds,
    shaped,
    slowness,
)

_SHORT, _KNOWN_SHORT, _LONG = 1_500, 4_000, 8_000  # characters of the shorter of two texts
_SAMPLES = int(os.environ.get("FACTOID_CAMPAIGN", "40"))

# Texts that took seconds or minutes, by their readers.
_KNOWN = [
    *(("split_passages", "one", fragment) for fragment in (" ", "\xa0", "\t", "[](<")),
    ("split_passages", "before another", "~", "", "`"),
    ("split_passages", "before another", "|--", "", "x"),
    *(("clean", "one", fragment) for fragment in ("`", "~", '<table "')),
    ("clean", "before another", "☐", " ", "a"),
    ("clean", "behind another", "1", "", "# a:"),
    ("rows between pipes", "behind another", "1", "", "\n\nTable 1"),
    ("a figure", "one", "<figcaption>"),
    ("a figure", "groups", "'", "</figure>", " and "),
    ("markdown_tables", "one", "`"),
    ("markdown_tables", "one", '<table "'),
    ("rows between pipes", "one", "|"),
    ("rows of Azure", "one", "|a a a a a\n"),
    ("rows of Azure", "around another", "who ", "||", "1. "),
    ("GrowingAnswer", "one", "# a\n"),
    ("GrowingAnswer", "one", "a\n=\n"),
    *(
        ("GrowingAnswer in small chunks", "one", fragment)
        for fragment in ("a", "A. ", ". ", "# a\n", "- a\n", "x = a.b()\n")
    ),
    ("GrowingAnswer in small chunks", "behind another", "a.b()\n", "", "```\n"),
    ("GrowingAnswer in chunks", "before another", ". ", "\n", "<table>"),
    ("headings above a passage", "before another", "_", "", " a"),
    ("sentence_ends", "pairs opened and closed", "•", "Table 2: ", "A "),
    ("a page in HTML", "three runs", "| a ", "    ", "__"),
    ("GrowingAnswer", "behind another", "a. ", "$$", "> "),
]


def _skip_without_package(reader: str) -> None:
    package = NEEDS.get(reader)
    if package and find_spec(package.partition(".")[0]) is None:
        pytest.skip(f"needs {package}")


@pytest.mark.parametrize("reader", READERS)
def test_readers_take_linear_time(reader):
    _skip_without_package(reader)
    texts = samples(reader)
    slow = {
        name: slowness(READERS[reader], text, _SHORT) for name, text in (next(texts), next(texts))
    }
    assert not {name: times for name, times in slow.items() if times}


@pytest.mark.parametrize(
    ("reader", "shape", "fragments"), [(*case[:2], (*case[2:], "", "")[:3]) for case in _KNOWN]
)
def test_texts_that_once_took_long(reader, shape, fragments):
    _skip_without_package(reader)
    assert slowness(READERS[reader], shaped(shape, *fragments), _KNOWN_SHORT) == ""


@pytest.mark.parametrize("attribute", ["a{}=1 ", "{}* <a ", "a{}='>' ", '{}" '])
@pytest.mark.parametrize("reader", ["a row in HTML", "a page in HTML"])
def test_tags_of_many_attributes(reader, attribute):
    _skip_without_package(reader)

    def text(length):
        attributes = map(attribute.format, range(length))
        return f"<td {''.join(islice(attributes, length // 4))}>"

    assert slowness(READERS[reader], text, 8 * _LONG) == ""


@pytest.mark.slow
@pytest.mark.timeout(max(300, 20 * _SAMPLES))
@pytest.mark.parametrize("reader", READERS)
def test_readers_take_linear_time_for_many_texts(reader):
    _skip_without_package(reader)
    texts = samples(f"{reader} in a campaign")
    cases = dict(next(texts) for _ in range(_SAMPLES))
    if len(FRAGMENTS) < _SAMPLES:
        cases |= {f"one: {fragment!r}": shaped("one", fragment, "", "") for fragment in FRAGMENTS}
    slow = {name: slowness(READERS[reader], text, _LONG) for name, text in cases.items()}
    assert not {name: times for name, times in slow.items() if times}


# What copies or joins all that came before takes little time for a text of some kilobytes.
_LARGE = 40_000  # characters of the shorter of two texts


@pytest.mark.parametrize("lines", ["a::\n\n", "a;\n\n", "a  b  c\n a\tb\n"])
def test_large_files_that_once_took_long(lines):
    assert slowness(READERS["split_passages"], shaped("one", lines, "", ""), _LARGE) == ""


@pytest.mark.slow
@pytest.mark.timeout(max(300, 20 * _SAMPLES))
def test_large_files_of_two_kinds_of_lines_take_linear_time():
    texts = alternating_lines("large files")
    slow = {
        name: slowness(READERS["split_passages"], text, _LARGE)
        for name, text in islice(texts, _SAMPLES)
    }
    assert not {name: times for name, times in slow.items() if times}


_OPENERS = (
    "> ",
    "- ",
    "1. ",
    "[",
    "(",
    "{",
    "{{",
    "[[",
    "{{a|",
    "*a ",
    "<div>",
    "<table><tr><td>",
    '{"a":',
    '["',
    "<sup>",
)


@pytest.mark.parametrize("reader", READERS)
def test_texts_that_are_nested_deep(reader):
    _skip_without_package(reader)
    for opener in _OPENERS:
        seconds(READERS[reader], shaped("one", opener, "", "")(2_000))


@pytest.mark.slow
@pytest.mark.timeout(max(300, 20 * _SAMPLES))
@pytest.mark.parametrize("reader", READERS)
def test_texts_that_are_nested_very_deep(reader):
    """In the long campaign 100,000 deep."""
    _skip_without_package(reader)
    depth = min(500 * _SAMPLES, 100_000)
    for opener in _OPENERS:
        seconds(READERS[reader], opener * depth)
