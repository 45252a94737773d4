"""Write docs/cli.md from the help of the command line, so that it cannot go stale: `make docs`."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from factoid.cli import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

HEAD = """# The command `factoid`

<!-- Written by `make docs` from the command line itself: change the help texts in shared/factoid/cli. -->

Options stand anywhere behind their command. Results go to stdout, everything else to stderr. Progress bars show on a
terminal only. `factoid --install-completion` makes your shell complete commands, options and choices.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an error, told in one line on stderr |
| 2 | wrong usage |
| 130 | interrupted with Ctrl-C; what was committed stays, and the same command goes on from there |

## Files

* Text and Markdown (.txt, .text, .md, .markdown, .mdx, .qmd, .rmd, .rst, .adoc, .asciidoc, and any other text that is named) are
  one document each, in UTF-8, or in UTF-16 or UTF-32 where the first bytes show it. Front matter in YAML (`---`) or TOML
  (`+++`) becomes the document's metadata (dates as ISO strings), and `title` its title.
* JSON lines (.jsonl, and .json with an object in each line): each object is a document. `text` (or `content`,
  `page_content`) is required; `title`, `section`, `id` and `metadata` are optional; other fields become metadata.
* Tables (.csv, .tsv): each row is a document, read as such an object. Without a column of text, its text is "column: value"
  for each cell, and its proposition the row with the names of its columns; of a row with more than 60 words, each proposition
  begins with the cells that name it. The delimiter is `,`, `;`, tab or `|`, or what a first line such as `sep=;` says. No cell is
  lost: one without a column's name is called "column 3", and rows above the header are the title. Where the first row holds
  values (a number above numbers, an address above addresses), no row names the columns. A row with a text and more cells than
  columns is an error.
  A cell that is written as a plain number ("240", "-4.5") is a number in the metadata, for filters such as
  `{"price": {"$gt": 50}}`; "00123", "+49 30", "1,290", integers of more than 15 digits, and the columns `title`, `section` and
  `id` stay text. Cells are read one by one: in a column with "1200" and "A3" only the first is a number.
* Subtitles (.srt, .vtt): each sentence is a document, with `time`, `end_time` and, if it is known, `speaker` in its metadata.
  Logs (.log): each entry is one, with `line` and, if they are known, `time` and `level`.
* PDF, DOCX, PPTX, HTML, EPUB and notebooks (.ipynb), with `pip install "factoid[documents]"`: a document in Markdown, to which
  its spans refer. PDFs are read as `factoid clean` does. Of HTML, navigation, controls and what is hidden are left out; merged
  cells of tables are repeated.
* `-` is standard input: JSON lines if it begins with `{`, else Markdown.

Folders are read with the folders in them, without hidden files; tables, logs and .json only where they are named, since not
all of them are texts. What else lies there is counted in a warning. A file that cannot be read is left out, named in the
error at the end (exit code 1), and costs no other.

A file keeps its place in the store: when it has changed, the same command replaces its document, and leaves unchanged ones
alone. `factoid index PATH… --sync` also removes what came from these paths and is in no file any more. It goes by
`metadata["source"]`, the path as it was typed: run it from the folder in which the paths were indexed. Documents from other
paths, and files that are there but cannot be read, are left alone. All documents of a folder that is empty now are removed; a
path that does not exist is an error, since it may be mistyped.

"""


def render() -> str:
    """Return the page."""
    command = typer.main.get_command(app)
    docs = get_docs_for_click(
        obj=command, ctx=typer.Context(command), name="factoid", title="Commands", indent=1
    )
    for verb in [*command.commands.values(), *command.commands["store"].commands.values()]:
        docs = docs.replace(
            f"`{verb.name}`: {verb.get_short_help_str()}\n",
            f"`{verb.name}`: {verb.get_short_help_str(200)}\n",
        )
    return f"{HEAD}{docs.strip()}\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE}")
