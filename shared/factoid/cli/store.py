"""`factoid store`: inspect, check, shrink, copy and merge stores, and move units in and out."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError, StoreError
from factoid.terminal import count

app = typer.Typer(
    no_args_is_help=True, help="Inspect, check, shrink, copy and merge stores, and move units in and out."
)

Folder = Annotated[str, argument("DIR", "The store.")]
UnitFile = Annotated[
    str, argument("FILE", "File of units, .jsonl, .jsonl.gz or .parquet; its documents lie beside it.")
]


def stats(store: Folder, as_json: opts.AsJson = False) -> None:
    """Count what a store holds."""
    with opts.open_store(store, read_only=True) as opened:
        result = opened.stats()
    opts.Output(as_json=as_json).print(result, result)


def verify(
    store: Folder,
    repair: Annotated[bool, option(None, "Repair what can be derived from the rest of the store.", "--repair")] = False,
    *,
    output: opts.Output,
) -> None:
    """Check that a store is intact; exit with 1 if it is not."""
    with opts.open_store(store, read_only=not repair) as opened:
        report = opened.verify(repair=repair, show_progress=output.show_progress)
    output.print({"ok": report.ok, **asdict(report)}, report)
    if not report.ok:
        raise StoreError(f"the store at {store} has {count(len(report.problems), 'problem')}")


def compact(store: Folder, *, output: opts.Output) -> None:
    """Shrink a store to the size of its content."""
    with opts.open_store(store) as opened:
        report = opened.compact(show_progress=output.show_progress)
    output.print(report, report)


def export(
    store: Folder,
    file: UnitFile,
    no_vectors: Annotated[bool, option(None, "Leave out the vectors.", "--no-vectors")] = False,
    *,
    output: opts.Output,
) -> None:
    """Write units and documents as JSON lines or Parquet."""
    with opts.open_store(store, read_only=True) as opened:
        report = opened.export(file, vectors=not no_vectors, show_progress=output.show_progress)
    output.print({**asdict(report), "files": [str(path) for path in report.files]}, report)


def import_units(store: Folder, file: UnitFile, encoder: opts.EncoderName = None, *, output: opts.Output) -> None:
    """Add exported units and documents to a store, created if absent."""
    from factoid.store import UnitStore

    with UnitStore(store, encoder=None if encoder is None else opts.make_encoder(encoder)) as opened:
        report = opened.import_from(file, show_progress=output.show_progress)
    output.print(report, f"added to {store}: {report}")


def merge(
    store: Folder,
    other: Annotated[str, argument("OTHER", "The store to add.")],
    on_conflict: Annotated[
        Literal["replace", "keep", "error"],
        option(None, "For a document or unit that differs: take the other store's, keep this one's, or stop."),
    ] = "replace",
    *,
    output: opts.Output,
) -> None:
    """Add everything from another store."""
    with opts.open_store(store) as opened:
        report = opened.merge(other, on_conflict=on_conflict, show_progress=output.show_progress)
    output.print(report, report)


def delete(
    store: Folder,
    ids: Annotated[list[str] | None, argument("ID", "Documents, or units with the units under them.")] = None,
    condition: opts.Filter = None,
    yes: Annotated[bool, option(None, "Skip the confirmation that a terminal asks for.", "--yes")] = False,
    *,
    output: opts.Output,
) -> None:
    """Delete documents or units, by id or by metadata."""
    parsed = opts.read_object("--filter", condition)
    if bool(ids) == (parsed is not None):
        raise InvalidInputError("factoid store delete takes either ids or --filter")
    with opts.open_store(store) as opened:
        if sys.stdin.isatty() and not yes:
            chosen = count(len(ids), "id") if ids else count(len(opened.ids(parsed)), "unit")
            print(f"delete {chosen} from {store}, with all under them? [y/N] ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise InvalidInputError("nothing was deleted")
        with opts.waiting("deleting", quiet=output.quiet):
            with opened.connections.reading() as snapshot:
                unknown = [id_ for id_ in ids or () if not (*snapshot.document_rows([id_]), *snapshot.unit_rows([id_]))]
            deleted = opened.delete(ids or None, filter=parsed)
    missing = f"\nnot in the store: {', '.join(unknown)}" if unknown else ""
    output.print({"deleted": deleted, "unknown": unknown}, f"{count(deleted, 'unit')} deleted{missing}")


def copy(
    store: Folder,
    to: Annotated[str, argument("TO", "A folder, or an address such as s3://bucket/facts (extra remote).")],
    *,
    output: opts.Output,
) -> None:
    """Copy a store to a folder, or to another file system."""
    with opts.open_store(store, read_only=True) as opened, opts.waiting("copying", quiet=output.quiet or "://" in to):
        if "://" in to:
            opened.save_to(to, show_progress=output.show_progress)
        else:
            opened.copy_to(to)
    output.print({"store": store, "copy": to}, f"{to} is a copy of {store}")


def fetch(
    store: Folder,
    url: Annotated[str, argument("URL", "The address to which factoid store copy sent it.")],
    *,
    output: opts.Output,
) -> None:
    """Copy a store from another file system into a new folder."""
    from factoid.store import UnitStore

    with UnitStore.load_from(url, store, encoder=None, show_progress=output.show_progress) as opened:
        counts = opened.counts()
    output.print({"store": store, "total": counts}, f"{store} holds {opts.listed(counts) or 'nothing'}")


for _command in (stats, verify, compact, export, import_units, merge, delete, copy, fetch):
    app.command("import" if _command is import_units else None)(opts.grouped(_command))
