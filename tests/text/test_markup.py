"""Whether a text is Markdown or plain."""

from __future__ import annotations

import pytest

from factoid import Document, split_passages
from factoid.text.markup import markup_of

MARKED = "The **tower** leans."


@pytest.mark.parametrize(
    ("metadata", "markup"),
    [
        ({}, "markdown"),
        ({"source": "a/b.txt"}, "plain"),
        ({"source": "https://example.com/notes.TXT"}, "plain"),
        ({"source": "b.log", "content_type": "text/markdown"}, "markdown"),
        ({"source": "b.md", "content_type": "text/plain; charset=utf-8"}, "plain"),
        ({"source": "b.md", "markup": "plain"}, "plain"),
        ({"file_name": "b.csv"}, "plain"),
        ({"file_type": "text/markdown", "file_name": "b.txt"}, "markdown"),
        ({"source": "b.pdf"}, "markdown"),
        ({"source": 5, "markup": "unknown"}, "markdown"),
    ],
)
def test_metadata_say_what_a_text_is(metadata: dict[str, object], markup: str) -> None:
    assert markup_of(MARKED, metadata) == markup


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nText.",
        "Title\n=====\n\nText.",
        "Run:\n\n```sh\nls\n```",
        "See [the page](page.md).",
        "![A map](map.png)",
        "A [link][1].\n\n[1]: https://example.com",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "a | b\n--- | ---\n1 | 2",
        "A note.[^1]",
        "*It rained.* He left.",
        "Call `open()` first.",
        "One<br>two",
        "<div>text</div>",
        "Text <!-- hidden -->",
        "> quoted\n> lines",
        ":::note\nText\n:::",
        '!!! note "Title"\n    Text',
        "Fish &amp; chips",
        "It is {++new++} here.",
        "It is {--old--}{>>Is it?<<} here.",
    ],
)
def test_what_stands_in_markdown_only(text: str) -> None:
    assert markup_of(text) == "markdown"


@pytest.mark.parametrize(
    "text",
    [
        "2*3 = 6 and 4*5*6 = 120",
        "Use *.py and *.md files, or **/*.txt.",
        "Override __init__ and __str__.",
        "C:\\Users\\_data\\*.csv",
        "if a<b and c>d then x = y[1] (or z)",
        "#1 is first, #2 second",
        "C# and F# are languages.",
        "- one\n- two\n\n1. first\n2. second",
        "Dear Ann,\n\nsee you at 5.\n\n-- \nBob",
        "5 * 4 * 3",
        "He paid $5 for A&B; she paid $6.",
        "snake_case_name and _private_",
        "5 > 4\nand 3 < 4",
        "while (n) {--n;} or {++n} and x_{--}",
        "",
    ],
)
def test_what_stands_in_plain_text_as_well(text: str) -> None:
    assert markup_of(text) == "plain"


def test_plain_text_keeps_every_character() -> None:
    text = "The **tower** leans & `code` stays <b>here</b>."
    (passage,) = split_passages(Document(text, metadata={"source": "a.txt"}))
    assert (passage.text, passage.visible) == (text, "")
    (passage,) = split_passages(Document(text, metadata={"source": "a.md"}))
    assert (passage.text, passage.visible) == (text, "The tower leans & `code` stays here.")
