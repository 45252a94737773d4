"""`factoid clean` and `factoid tables`: print the results of a layout service as clean text and as tables."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError
from factoid.terminal import count

Files = Annotated[
    list[str],
    argument(
        "FILE",
        "Results of Azure Document Intelligence or Content Understanding (.json), Markdown (.md, .txt), or PDFs with text.",
    ),
]


def clean(
    files: Files,
    *,
    references: Annotated[
        Literal["split", "keep", "drop"],
        option(None, "Split the list of references into its entries, keep it whole, or drop it."),
    ] = "split",
    without: Annotated[
        list[str] | None, option("RULE", "Skip a cleaning rule, such as hyphens; may be repeated.")
    ] = None,
    as_json: Annotated[bool, option(None, "Print the parts as JSON lines, for indexing.", "--json")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Print the clean text of a layout service's results, without marks, page furniture and split words."""
    from factoid.documents import CleaningOptions, read_layout
    from factoid.documents import clean as clean_layout

    switches = [name for name, value in asdict(CleaningOptions()).items() if value is True]
    if not {*(without or ())} <= {*switches}:
        raise InvalidInputError(f"--without takes one of {', '.join(switches)}, got {', '.join(without or ())}")
    off: dict[str, Any] = dict.fromkeys(without or (), False)
    rules = CleaningOptions(references=references, **off)
    for number, file in enumerate(files):
        document = clean_layout(read_layout(file), rules)
        if as_json:
            for part in document.documents(metadata={"source": Path(file).as_posix()}):
                opts.print_json(asdict(part))
        else:
            print(("\n" if number else "") + document.text)
            if document.tables and not quiet:
                print(f"{count(len(document.tables), 'table')} left out: see factoid tables {file}", file=sys.stderr)
        if not quiet:
            counts = ", ".join(f"{changes} {rule.replace('_', ' ')}" for rule, changes in document.changes.items())
            print(f"{file}: {counts or 'nothing to clean'}", file=sys.stderr)


def tables(
    files: Files,
    *,
    as_json: Annotated[bool, option(None, "Print a JSON line for each table, with its records.", "--json")] = False,
    as_csv: Annotated[bool, option(None, "Print comma-separated values.", "--csv")] = False,
    sentences: Annotated[bool, option(None, "Print a sentence for each value.", "--sentences")] = False,
    table: Annotated[int | None, option("N", "Print only table N of each file, counted from 1.")] = None,
) -> None:
    """Print the tables in a layout service's results as Markdown, JSON, CSV or sentences."""
    from factoid.documents import clean as clean_layout
    from factoid.documents import read_layout, row_propositions

    if as_json + as_csv + sentences > 1:
        raise InvalidInputError("give one of --json, --csv and --sentences")
    blank = ""  # stands between two tables
    for file in files:
        document = clean_layout(read_layout(file))
        if table is not None and not 1 <= table <= len(document.tables):
            raise InvalidInputError(f"{file} has {len(document.tables)} tables: there is no --table {table}")
        for number, grid in enumerate(document.tables, 1):
            if table not in (None, number):
                continue
            facts = [fact.text for fact in row_propositions(grid, text=document.text)] if as_json or sentences else []
            if as_json:
                record = {
                    "source": Path(file).as_posix(),
                    "table": number,
                    "caption": grid.caption,
                    "section": grid.section,
                    "pages": grid.pages,
                    "rows": grid.row_count,
                    "columns": grid.column_count,
                    "footnotes": grid.footnotes,
                    "records": grid.to_records(),
                    "sentences": facts,
                }
                opts.print_json(record)
                continue
            print(blank, end="")
            blank = "\n"
            if as_csv:
                writer = csv.writer(sys.stdout, lineterminator="\n")
                writer.writerows([grid.names(), *grid.texts()[grid.header_rows :]])
            else:
                print("\n".join(facts) if sentences else grid.to_markdown())
