"""`factoid store`: inspect, check, shrink, copy and merge stores, and move units in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from factoid.cli import options as opts
from factoid.cli.move import is_address, is_import, move, vector_store
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError, StoreError
from factoid.terminal import count

_MUCH = 0.2  # of the file of vectors: compacting is worth its time

app = typer.Typer(
    no_args_is_help=True,
    help="Inspect, check, shrink, copy and merge stores, and move units in and out.",
)

Folder = Annotated[str, argument("DIR", "The store.")]
UnitFile = Annotated[str, argument("FILE", "File of units and documents, .jsonl or .parquet.")]


def stats(store: Folder, as_json: opts.AsJson = False) -> None:
    """Count what a store holds."""
    with opts.open_store(store, read_only=True) as opened:
        result = opened.stats()
    lines = []
    for name, value in result.items():
        parts = value
        if isinstance(value, dict):
            parts = ", ".join(f"{part} {number}" for part, number in value.items())
        lines.append(f"{name}: {parts}")
    lines += _advice(result)
    opts.Output(as_json=as_json).print(result, "\n".join(lines))


def verify(
    store: Annotated[
        str, argument("DIR", "The store; or module:name, or the address, of a vector store.")
    ],
    repair: Annotated[
        bool,
        option(
            None,
            "Delete damaged units and documents, and make again what follows from the rest.",
            "--repair",
        ),
    ] = False,
    *,
    output: opts.Output,
) -> None:
    """Check that a store is intact; exit with 1 if it is not.

    Of a vector store of another make, check that its rows follow the metadata contract.
    """
    if is_import(store) or is_address(store):
        if repair:
            raise InvalidInputError("--repair is for stores in a folder: add the documents again")
        problems = vector_store(store).verify()
        output.print({"problems": problems, "left": problems}, "\n".join(problems) or "all is well")
        if problems:
            raise StoreError(f"{store} has {count(len(problems), 'problem')}")
        return
    with opts.open_store(store, read_only=not repair) as opened:
        problems = opened.verify(repair=repair)
        remaining = opened.verify() if problems and repair else problems
        advice = []
        if not remaining:
            advice = _advice(opened.stats())
    lines = [*(problems or ["all is well"]), *advice]
    output.print({"problems": problems, "left": remaining}, "\n".join(lines))
    if remaining:
        raise StoreError(f"the store at {store} has {count(len(remaining), 'problem')}")


def compact(store: Folder, *, output: opts.Output) -> None:
    """Shrink a store to the size of its content."""
    with opts.open_store(store) as opened:
        before = _bytes(opened.stats())
        opened.compact(progress=output.progress)
        after = _bytes(opened.stats())
    output.print(
        {"before": before, "after": after},
        f"database and vectors: {before:,} bytes before, {after:,} after",
    )


def _bytes(stats_of_store: Mapping[str, Any]) -> int:
    return int(stats_of_store["bytes"]) + int(stats_of_store["vector_bytes"])


def _advice(stats_of_store: Mapping[str, Any]) -> list[str]:
    """Return a line that suggests `compact` if much of the file of vectors is deleted ones."""
    deleted = stats_of_store["deleted_vectors"]
    share = deleted / max(1, deleted + stats_of_store["vectors"])
    if share < _MUCH:
        return []
    return [
        f"{share:.0%} of the file of vectors is those of deleted units: factoid store compact "
        "makes it smaller"
    ]


def export(
    store: Folder,
    file: UnitFile,
    no_vectors: Annotated[bool, option(None, "Leave out the vectors.", "--no-vectors")] = False,
    *,
    output: opts.Output,
) -> None:
    """Write units and documents as JSON lines or Parquet."""
    with opts.open_store(store, read_only=True) as opened:
        records = opened.export(file, vectors=not no_vectors, progress=output.progress)
    output.print({"records": records}, f"{records:,} units and documents in {file}")


def import_units(
    store: Folder,
    file: UnitFile,
    encoder: opts.EncoderName = None,
    edited: Annotated[
        bool,
        option(
            None,
            "Import an export that was changed on purpose: checksums are not compared.",
            "--edited",
        ),
    ] = False,
    *,
    output: opts.Output,
) -> None:
    """Add exported units and documents to a store, created if absent."""
    from factoid.store import UnitStore

    loaded_encoder = None
    if encoder is not None:
        loaded_encoder = opts.make_encoder(encoder)
    with UnitStore(store, encoder=loaded_encoder) as opened:
        records = opened.import_from(file, edited=edited, progress=output.progress)
    output.print({"records": records}, f"{records:,} units and documents added to {store}")


def merge(
    store: Folder,
    other: Annotated[str, argument("OTHER", "The store to add.")],
    keep: Annotated[
        bool,
        option(
            None,
            "Keep documents that are in both as they are here, instead of replacing them.",
            "--keep",
        ),
    ] = False,
    *,
    output: opts.Output,
) -> None:
    """Add everything from another store."""
    with opts.open_store(store) as opened:
        counts = opened.merge(other, keep=keep, progress=output.progress)
    output.print(counts, "\n".join(f"{name}: {number:,}" for name, number in counts.items()))


def delete(
    store: Folder,
    ids: Annotated[
        list[str] | None, argument("ID", "Documents, or units with the units under them.")
    ] = None,
    condition: opts.Filter = None,
    *,
    output: opts.Output,
) -> None:
    """Delete documents or units, by id or by metadata."""
    parsed = opts.read_object("--filter", condition)
    if bool(ids) == (parsed is not None):
        raise InvalidInputError("factoid store delete takes either ids or --filter")
    with opts.open_store(store) as opened:
        with opened.opened.connections.reading() as snapshot:
            unknown = []
            for id_ in ids or ():
                if not (*snapshot.document_rows([id_]), *snapshot.unit_rows([id_])):
                    unknown.append(id_)
        deleted = opened.delete(ids or None, filter=parsed)
    missing = f"\nnot in the store: {', '.join(unknown)}" if unknown else ""
    output.print(
        {"deleted": deleted, "unknown": unknown}, f"{count(deleted, 'unit')} deleted{missing}"
    )


def copy(
    store: Annotated[str, argument("FROM", "The store, or the address to which it was copied.")],
    to: Annotated[
        str,
        argument("TO", "A new folder, or an address such as s3://bucket/facts.zip (extra remote)."),
    ],
    *,
    output: opts.Output,
) -> None:
    """Copy a store to a new folder, to another file system, or from there."""
    from factoid.store.transfer.remote import load_from

    if "://" in store:
        load_from(store, to)
    else:
        with opts.open_store(store, read_only=True) as opened:
            if "://" in to:
                opened.save_to(to)
            else:
                opened.copy_to(to)
    output.print({"store": store, "copy": to}, f"{to} is a copy of {store}")


for _command in (stats, verify, compact, export, import_units, merge, delete, copy, move):
    _name = _command.__name__.removesuffix("_units")  # "import" is a word of Python
    app.command(_name)(opts.grouped(_command))
