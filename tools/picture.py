"""Draw docs/images/result.svg from the first program of docs/index.md: `make docs`.

A question, the passage that answers it with the source of the best fact marked, and the facts.
"""

from __future__ import annotations

import contextlib
import io
import re
from html import escape
from pathlib import Path
from typing import Any

from factoid import Hit

DOCS = Path(__file__).resolve().parents[1] / "docs"
PICTURE = DOCS / "images" / "result.svg"
QUESTION = re.compile(r'store\.search\("([^"]+)"')
PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)

COLUMNS = 84
WIDTH = 780
LINE = 24
LETTER = 8.43  # width of a character of the font at 14 pixels
LEFT = 32


def main() -> None:
    """Run the program and write the picture of its hit."""
    program = PROGRAM.search((DOCS / "index.md").read_text(encoding="utf-8"))
    assert program is not None  # noqa: S101
    question = QUESTION.search(program[1])
    assert question is not None  # noqa: S101
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program[1], "docs/index.md", "exec"), names)  # noqa: S102 - our own page
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(question[1], names["hit"]), encoding="utf-8")
    print(f"wrote {PICTURE}")


def draw(question: str, hit: Hit) -> str:
    """Return the picture of a hit."""
    best = hit.matches[0].unit
    marked = (best.start - hit.unit.start, best.end - hit.unit.start)
    lines = [text_line(1, question, "question")]
    row = 2.6
    lines.append(text_line(row, hit.unit.title, "title"))
    row += 1.1
    text = " ".join(hit.unit.text.split())  # as many characters as before: single line breaks
    for start, end in wrapped(text):
        first = max(start, marked[0])
        last = min(end, marked[1])
        if first < last:
            lines.append(mark(row, first - start, last - start))
        lines.append(text_line(row, text[start:end], "text"))
        row += 1
    row += 0.6
    for match in hit.matches:
        for number, (start, end) in enumerate(wrapped(match.unit.text, COLUMNS - 8)):
            if number == 0:
                lines.append(text_line(row, f"{match.score:.2f}", "score"))
            lines.append(text_line(row, match.unit.text[start:end], "fact", indent=8))
            row += 1
    height = round((row + 0.4) * LINE)
    body = "\n".join(lines)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">
<title>{escape(question)} {escape(best.text)}</title>
<style>
text {{ font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace }}
text {{ fill: #24292f; white-space: pre }}
.question, .title {{ font-weight: bold }}
.title, .score {{ fill: #57606a }}
</style>
<rect width="{WIDTH}" height="{height}" rx="8" fill="#f6f8fa"/>
{body}
</svg>
"""


def wrapped(text: str, columns: int = COLUMNS) -> list[tuple[int, int]]:
    """Return the spans of the lines of a text."""
    spans = []
    start = 0
    for word in re.finditer(r"\S+", text):
        if word.end() - start > columns:
            spans.append((start, word.start()))
            start = word.start()
    spans.append((start, len(text)))
    return spans


def text_line(row: float, text: str, kind: str, *, indent: int = 0) -> str:
    """Return a line of text at a row."""
    x = LEFT + indent * LETTER
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{row * LINE + 10:.1f}">{escape(text.rstrip())}</text>'
    )


def mark(row: float, start: int, end: int) -> str:
    """Return the background of some columns of a row."""
    x = LEFT + start * LETTER - 2
    width = (end - start) * LETTER + 4
    return (
        f'<rect x="{x:.1f}" y="{row * LINE - 6:.1f}" width="{width:.1f}" height="22" rx="3" '
        'fill="#ffe08a"/>'
    )


if __name__ == "__main__":
    main()
