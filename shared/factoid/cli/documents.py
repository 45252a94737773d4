"""Print the results of a layout service as clean text and as tables."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError
from factoid.terminal import count

Files = Annotated[
    list[str],
    argument(
        "FILE",
        "Results of Azure Document Intelligence or Content Understanding (.json), Markdown (.md, "
        ".txt), or PDFs with text.",
    ),
]


def clean(
    files: Files,
    *,
    without: Annotated[
        list[str] | None, option("RULE", "Skip a cleaning rule, such as hyphens; may be repeated.")
    ] = None,
    as_json: Annotated[
        bool, option(None, "Print the parts as JSON lines, for indexing.", "--json")
    ] = False,
    limit: opts.Limit = None,
    quiet: opts.Quiet = False,
) -> None:
    """Print the clean text of a layout service's results.

    It is without marks, page furniture and split words.
    """
    from factoid.documents import clean as clean_layout
    from factoid.documents import read_layout

    limits = opts.read_limits(limit)
    for number, file in enumerate(files):
        document = clean_layout(read_layout(file, limits=limits), without=without or ())
        if as_json:
            for part in document.documents(metadata={"source": Path(file).as_posix()}):
                opts.print_json(asdict(part))
        else:
            if number:
                print()
            print(document.text)
            if document.tables and not quiet:
                print(
                    f"{count(len(document.tables), 'table')} left out: see factoid tables {file}",
                    file=sys.stderr,
                )
        if not quiet:
            print(f"{file}: {dict(document.changes)}", file=sys.stderr)


def tables(
    files: Files,
    *,
    as_json: Annotated[
        bool, option(None, "Print a JSON line for each table, with its records.", "--json")
    ] = False,
    sentences: Annotated[
        bool, option(None, "Print a sentence for each value.", "--sentences")
    ] = False,
    limit: opts.Limit = None,
) -> None:
    """Print the tables in a layout service's results as Markdown, JSON or sentences."""
    from factoid.documents import clean as clean_layout
    from factoid.documents import read_layout, row_propositions

    if as_json and sentences:
        raise InvalidInputError("give --json or --sentences")
    limits = opts.read_limits(limit)
    blank = ""  # stands between two tables
    for file in files:
        for table in clean_layout(read_layout(file, limits=limits)).tables:
            if as_json:
                place = {
                    "source": Path(file).as_posix(),
                    "caption": table.caption,
                    "pages": table.pages,
                }
                opts.print_json({**place, "records": table.to_records()})
                continue
            print(blank, end="")
            blank = "\n"
            if sentences:
                print("\n".join(fact.text for fact in row_propositions(table)))
            else:
                print(table.to_markdown())
