"""Write the code that docs/production.md quotes from files of this repository.

A comment names the file and the first and last line of the quotation, by parts of them, or the
whole file:

    <!-- examples/production/app.py: def create_app … return app -->
    <!-- examples/production/Dockerfile: all -->

The block of code after it is made from the file. `make docs` writes the page; a test compares.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "production.md"
QUOTATION = re.compile(r"^<!-- (\S+): (.+) -->\n(?:```\w*\n(?:(?!```).*\n)*```\n)?", re.MULTILINE)
LANGUAGES = {".py": "python", ".txt": "text"}


def quoted(file: Path, part: str) -> str:
    """Return the lines of a file between two texts, without their indent.

    They go from the first line that holds one to the next that holds the other.
    """
    text = file.read_text(encoding="utf-8")
    if part == "all":
        return text
    lines = text.splitlines(keepends=True)
    first, _, last = part.partition(" … ")
    start = next(number for number, line in enumerate(lines) if first in line)
    end = next(
        number for number, line in enumerate(lines) if number >= start and (last or first) in line
    )
    return dedent("".join(lines[start : end + 1]))


def block(quotation: re.Match[str]) -> str:
    """Return a comment with the block of code that it asks for."""
    name, part = quotation.groups()
    file = ROOT / name
    language = LANGUAGES.get(file.suffix, file.name.lower())
    return f"<!-- {name}: {part} -->\n```{language}\n{quoted(file, part)}```\n"


def render() -> str:
    """Return the page with what it quotes."""
    return QUOTATION.sub(block, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
