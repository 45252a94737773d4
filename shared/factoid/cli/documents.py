"""`factoid clean` and `factoid tables`: what a layout service read, as clean text and as tables."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.terminal import count

if TYPE_CHECKING:
    from factoid.documents import LayoutDocument, Table

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
        Literal["split", "keep", "drop"], option(None, "The list of references: an entry each, whole, or left out.")
    ] = "split",
    without: Annotated[list[str] | None, option("RULE", "Leave out a rule, such as hyphens; may be repeated.")] = None,
    as_json: Annotated[
        bool, option(None, "Print sections, tables, figures and references as JSON lines, to index.", "--json")
    ] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Print the clean text of documents that a layout service read, without marks, furniture and cut words."""
    from factoid.documents import CleaningOptions

    try:
        off: dict[str, Any] = dict.fromkeys(without or (), False)
        rules = replace(CleaningOptions(references=references), **off)
    except TypeError as error:
        names = ", ".join(name for name, value in asdict(CleaningOptions()).items() if value is True)
        raise InvalidInputError(f"--without takes one of {names}, got {', '.join(without or ())}") from error
    for number, file in enumerate(files):
        document = _read(file, rules)
        if as_json:
            for part in document.documents(metadata={"source": Path(file).as_posix()}):
                opts.print_json(asdict(part))
        else:
            print(("\n" if number else "") + document.text)
            if document.tables and not quiet:
                print(f"{count(len(document.tables), 'table')} left out: factoid tables {file}", file=sys.stderr)
        if not quiet:
            counts = ", ".join(f"{changes} {rule.replace('_', ' ')}" for rule, changes in document.changes.items())
            print(f"{file}: {counts or 'nothing to clean'}", file=sys.stderr)


def tables(
    files: Files,
    *,
    as_json: Annotated[
        bool,
        option(None, "Print a JSON line for each table: records by column, caption, place and sentences.", "--json"),
    ] = False,
    as_csv: Annotated[bool, option(None, "Print comma-separated values.", "--csv")] = False,
    sentences: Annotated[bool, option(None, "Print a sentence for each value.", "--sentences")] = False,
    table: Annotated[int | None, option("N", "Print one table of a file only, counted from 1.")] = None,
) -> None:
    """Print the tables of documents that a layout service read, as Markdown, JSON, CSV or sentences."""
    if as_json + as_csv + sentences > 1:
        raise InvalidInputError("give one of --json, --csv and --sentences")
    first = True
    for file in files:
        document = _read(file, None)
        if table is not None and not 1 <= table <= len(document.tables):
            raise InvalidInputError(
                f"{file} has {len(document.tables)} tables: --table takes a number from 1 to that, got {table}"
            )
        for number, grid in enumerate(document.tables, 1):
            if table not in (None, number):
                continue
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
                    "sentences": _sentences(grid, document.text),
                }
                opts.print_json(record)
                continue
            if not first:
                print()
            first = False
            if as_csv:
                writer = csv.writer(sys.stdout, lineterminator="\n")
                writer.writerows([grid.names(), *grid.texts()[grid.header_rows :]])
            elif sentences:
                print("\n".join(_sentences(grid, document.text)))
            else:
                print(grid.to_markdown())


def _read(file: str, rules: Any) -> LayoutDocument:
    from factoid.documents import clean, read_layout

    if not Path(file).is_file():
        raise UnreadableFileError(f"{file} is no file")
    return clean(read_layout(file), rules)


def _sentences(table: Table, text: str) -> list[str]:
    from factoid.documents import row_propositions

    return [proposition.text for proposition in row_propositions(table, text=text)]
