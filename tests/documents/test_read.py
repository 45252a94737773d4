"""Results of every version into the same layout, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.documents import Layout, Region, clean, read_layout, read_markdown
from factoid.documents.word_boxes import regions_in
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.limits import ReadLimits
from tests.documents.results import paged, paragraph, snake, word
from tests.documents.seeds import samples

TEXT = "The mill was built in 1820.\nIt burned down twice."
RESULT = paged(TEXT)


def printed(layout: Layout) -> list[str]:
    return [layout.content[word.start : word.end] for word in layout.words]


class OldSdkObject:
    def to_dict(self) -> dict[str, Any]:
        result = snake(RESULT)
        for entry in result["pages"][0]["words"]:
            numbers = entry["polygon"]
            entry["polygon"] = [
                {"x": x, "y": y} for x, y in zip(numbers[::2], numbers[1::2], strict=True)
            ]
        return result


@pytest.mark.parametrize(
    "source",
    [
        RESULT,
        snake(RESULT),
        {"status": "succeeded", "analyzeResult": RESULT},
        SimpleNamespace(as_dict=lambda: RESULT),
        OldSdkObject(),
        {
            "result": {
                "contents": [{"markdown": TEXT, "kind": "document", "pages": RESULT["pages"]}]
            },
            "status": "Succeeded",
        },
    ],
    ids=[
        "JSON",
        "snake case",
        "envelope",
        "SDK object",
        "SDK object of v3",
        "Content Understanding",
    ],
)
def test_the_same_result_in_every_form(source: Any) -> None:
    layout = read_layout(source)
    assert layout.content == TEXT
    assert printed(layout) == TEXT.split()
    assert layout.words[0] == (0, 3, 1, (1, 1, 1.6, 1.15))
    assert (layout.pages[0].width, layout.pages[0].unit, layout.page_at(5)) == (8.5, "inch", 1)
    assert layout.boxes(clean(layout).traced.cut(4, 8)) == [(0, 4, 1, (1.7, 1.0, 2.3, 1.15))]


def test_places_of_content_understanding() -> None:
    page = {
        "pageNumber": 2,
        "words": [
            {
                "content": "mill",
                "span": {"offset": 4, "length": 4},
                "source": "D(2,1,1,2,1,2,2,1,2)",
            }
        ],
    }
    layout = read_layout({"contents": [{"markdown": "The mill", "pages": [page]}]})
    assert layout.words[0] == (4, 8, 2, (1.0, 1.0, 2.0, 2.0))


def test_lines_of_version_2_1() -> None:
    def line(text: str, left: float, top: float) -> dict[str, Any]:
        places = [
            (left + 0.7 * number, top, left + 0.7 * number + 0.6, top + 0.1)
            for number in range(len(text.split()))
        ]
        boxes = [
            word(part, 0, place)["polygon"]
            for part, place in zip(text.split(), places, strict=True)
        ]
        words = [
            {"text": part, "boundingBox": box}
            for part, box in zip(text.split(), boxes, strict=True)
        ]
        return {
            "text": text,
            "boundingBox": word(text, 0, (left, top, left + 3, top + 0.1))["polygon"],
            "words": words,
        }

    lines = [
        line("The mill was built", 1, 1),
        line("North", 4, 1.05),
        line("in 1820.", 1, 1.12),
        line("7", 5, 1.15),
        line("It burned down.", 1, 1.6),
        line("Margin", 6, 1.7),
    ]
    cells = [
        {
            "rowIndex": 0,
            "columnIndex": 0,
            "text": "North",
            "elements": ["#/readResults/0/lines/1/words/0"],
        },
        {
            "rowIndex": 0,
            "columnIndex": 1,
            "text": "7",
            "elements": ["#/readResults/0/lines/3/words/0"],
        },
    ]
    table = {"rows": 1, "columns": 2, "cells": cells, "boundingBox": [4, 1, 5, 1, 5, 2, 4, 2]}
    read = {"page": 1, "angle": 0, "width": 8.5, "height": 11, "unit": "inch", "lines": lines}
    result = {
        "version": "2.1.0",
        "readResults": [read],
        "pageResults": [{"page": 1, "tables": [table]}],
    }
    document = clean(read_layout({"analyzeResult": result}))
    assert document.text == "The mill was built in 1820.\n\nIt burned down.\n\nMargin"
    assert [table.texts() for table in document.tables] == [[["North", "7"]]]
    assert regions_in(document.documents()[0].metadata, 0, 10)[0].page == 1
    assert "readResults" in result  # the caller's JSON stays as it is
    assert "text" in cells[0]


def test_roles() -> None:
    content = "Mills\n7\nWater\nA mill needs a river.\nA note.\nWind\nx = 1"
    roles = {"Mills": "title", "7": "pageNumber", "A note.": "footnote", "x = 1": "news"}
    roles |= {"Water": "sectionHeading", "Wind": "sectionHeading"}
    paragraphs = [paragraph(content, text, roles.get(text, "")) for text in content.split("\n")]
    result = {
        "content": content,
        "contentFormat": "text",
        "pages": [{"pageNumber": 1}],
        "paragraphs": paragraphs,
    }
    document = clean(read_layout(result))
    assert document.title == "Mills"
    assert [part.path for part in document.parts] == [(), ("Water",), ("Wind",)]
    assert (
        document.text
        == "# Mills\n\n## Water\n\nA mill needs a river.\n\nA note.\n\n## Wind\n\nx = 1"
    )


def test_text_that_no_element_holds_is_not_lost() -> None:
    content = "First part.\nForgotten part.\nLast part."
    result = {
        "content": content,
        "pages": [],
        "paragraphs": [paragraph(content, "First part."), paragraph(content, "Last part.")],
    }
    assert clean(read_layout(result)).text == "First part.\n\nForgotten part.\n\nLast part."


@pytest.mark.parametrize(
    ("kind", "measure"),
    [
        ("utf16CodeUnit", lambda text: len(text.encode("utf-16-le")) // 2),
        ("unicodeCodePoint", len),
        ("textElements", lambda text: len(text.replace("\u0301", ""))),
    ],
)
def test_every_way_to_count_characters(kind: str, measure: Any) -> None:
    content = "𝛼 café\u0301s 😀 near the mill"
    words = [
        word(part, measure(content[: content.index(part)]), (1, 1, 2, 2), measure(part))
        for part in content.split()
    ]
    result = {
        "content": content,
        "contentFormat": "markdown",
        "pages": [{"pageNumber": 1, "words": words}],
    }
    assert printed(read_layout({**result, "stringIndexType": kind})) == content.split()


def test_comments_break_bare_markdown_into_pages() -> None:
    layout = read_markdown("One.\n\n<!-- PageBreak -->\n\nTwo.\n\n<!-- PageBreak -->\n\nThree.")
    [document] = clean(layout).documents()
    assert document.metadata["pages"] == [1, 2, 3]
    assert regions_in(document.metadata, 0, 0) == [Region(1, ()), Region(2, ()), Region(3, ())]
    place = document.text.index("Two")
    assert regions_in(document.metadata, place, place + 3) == [Region(2, ())]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"analyzeResult": RESULT}), encoding="utf-8")
    (tmp_path / "paper.md").write_text("# Mills\n\nText.", encoding="utf-8")
    assert read_layout(tmp_path / "result.json").content == TEXT
    assert clean(read_layout(str(tmp_path / "paper.md"))).title == "Mills"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"content": "The mi', "cut off"),
        ("<html>", "is not JSON"),
        ("[]", "holds a list"),
        ('{"pages": []}', "'pages' is not a layout"),
    ],
)
def test_files_of_something_else(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "result.json"
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        read_layout(path)
    path.write_text(content, encoding="utf-8")
    with pytest.raises((UnreadableFileError, InvalidInputError), match=message):
        read_layout(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "nothing is not a layout"),
        (
            {"id": "chatcmpl-1", "choices": []},
            "'choices', 'id' is not a layout: expected a result of Azure",
        ),
        ({"status": "failed", "error": {"code": "InvalidImage"}}, "'failed'.*InvalidImage"),
        ({"content": "a", "pages": None}, "is not a layout"),
        (
            {
                "content": "a",
                "pages": [{"words": [{"span": {"offset": -4, "length": 1}, "polygon": [1] * 8}]}],
            },
            "damaged",
        ),
        ({"content": "a", "pages": [{"words": [7]}]}, "damaged"),
        ({"content": "a", "pages": [], "paragraphs": [{"spans": [{}]}]}, "damaged"),
        ({"readResults": [{"lines": [{}]}]}, "damaged"),
        ({"contents": [{"markdown": "a"}, {"markdown": "b"}]}, "2 contents"),
        (5, "a int is not a layout"),
    ],
)
def test_what_is_no_layout(source: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_layout(source)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 30)
    | st.floats(allow_nan=False)
    | st.text("ab|#:<!->", max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "content pages paragraphs tables figures sections words span spans offset length cells polygon".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_any_json_is_read_or_refused(source: Any) -> None:
    try:
        layout = read_layout(
            source if isinstance(source, dict) else {"content": "ab\n\n# b", "pages": source}
        )
    except InvalidInputError:
        return
    document = clean(layout)
    assert document.text == "\n\n".join(part.text for part in document.parts if part.text)


def test_a_result_without_pages_words_or_text() -> None:
    document = clean(read_layout({"content": "", "pages": []}))
    assert (document.text, document.documents()) == ("", [])
    assert (
        "layout"
        not in clean(read_layout({"content": "A mill.", "pages": []})).documents()[0].metadata
    )


def test_overlapping_spans() -> None:
    content = "The mill was built in 1820. It burned."
    paragraphs = [
        {"spans": [{"offset": 0, "length": 27}]},
        {"spans": [{"offset": 4, "length": 34}]},
        {"spans": [{"offset": 0, "length": 8}]},
    ]
    words = [
        word("mill", 4, (1, 1, 2, 2)),
        word("mill was", 4, (1, 1, 3, 2)),
        word("was", 9, (2, 1, 3, 2)),
    ]
    pages = [
        {
            "pageNumber": 1,
            "words": words,
            "spans": [{"offset": 0, "length": 38}, {"offset": 3, "length": 9}],
        }
    ]
    document = clean(
        read_layout(
            {"content": content, "contentFormat": "text", "pages": pages, "paragraphs": paragraphs}
        )
    )
    assert document.text.split() == content.split()  # once each
    assert [box[:3] for box in document.layout.boxes(document.traced.cut(0, 12))] == [
        (4, 8, 1),
        (9, 12, 1),
    ]


def test_samples() -> None:
    for result in samples().values():
        layout = read_layout(result)
        words = printed(layout)
        assert len(words) > 200
        source = json.dumps(result, ensure_ascii=False)
        assert all(json.dumps(content, ensure_ascii=False)[1:-1] in source for content in words)
        document = clean(layout)
        kept = [
            (place, int(origin))
            for place, origin in enumerate(document.traced.origins)
            if origin >= 0
        ]
        assert all(document.text[place] == layout.content[origin] for place, origin in kept)
        assert all(part.metadata["pages"] for part in document.documents())


def test_a_long_file_and_a_deep_one(tmp_path: Path) -> None:
    limits = ReadLimits(file_bytes=1000)
    for name in ("a.json", "a.md"):
        path = tmp_path / name
        path.write_text(" " * 1001)
        message = (
            r"holds more than 1,000 bytes\. .*ReadLimits\(file_bytes=…\), or --limit file_bytes=…"
        )
        with pytest.raises(UnreadableFileError, match=message):
            read_layout(path, limits=limits)
    path = tmp_path / "deep.json"
    for depth in (300, 900, 100_000):
        path.write_text(
            '{"content": "x", "pages": [], "api_version": ' + "[" * depth + "]" * depth + "}"
        )
        try:
            read_layout(path)
        except (InvalidInputError, UnreadableFileError) as error:
            assert depth > 300, error  # noqa: PT017


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    for name in ("a.json", "a.md", "a.pdf"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(UnreadableFileError, match="is not a regular file"):
            read_layout(tmp_path / name)
