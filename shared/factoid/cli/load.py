"""`factoid load`: shards into a store of ours, or a vector store of another make."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from factoid.cli import options as opts
from factoid.cli.move import is_address, is_import, vector_store
from factoid.cli.options import argument, option
from factoid.errors import FactoidError, StoreError
from factoid.terminal import count


def load(
    shards: Annotated[str, argument("SHARDS", "A folder that factoid build made, or its address.")],
    into: Annotated[
        str,
        option(
            "STORE",
            "A folder of ours, created if absent; the address of a vector store, such as "
            "postgresql://HOST/DATABASE#COLLECTION, milvus://, chroma:// or qdrant://; or "
            "module:name, the place of one in your own code.",
            default=False,
        ),
    ],
    *,
    output: opts.Output,
) -> None:
    """Load shards of units with their vectors into a store; nothing is encoded again.

    A document that is there as it is in the shards is skipped, so that a load that was interrupted
    can be repeated.
    """
    from factoid.scale.load import finished_shards, load_shards, what_made
    from factoid.store import UnitStore

    finished = finished_shards(shards)
    identity, dim = what_made(finished)
    if is_import(into) or is_address(into):
        with _explained(into):
            existing = vector_store(into, identity.get("encoder") or "", dim)
            report = load_shards(finished, existing, progress=output.progress)
    else:
        with UnitStore(into, encoder=None) as store:
            report = load_shards(finished, store, progress=output.progress)
    lines = [
        f"{count(report.documents, 'document')} with {count(report.units, 'unit')} loaded from "
        f"{count(report.shards, 'shard')}, {report.unchanged:,} unchanged"
    ]
    if report.failures:
        lines.append(f"{count(report.failures, 'document')} could not be made: see the manifests")
    output.print(report, "\n".join(lines))


@contextmanager
def _explained(into: str) -> Iterator[None]:
    """Raise what the client of a vector store raises as a StoreError of one line."""
    try:
        yield
    except (FactoidError, OSError):
        raise
    except Exception as error:  # clients have errors of their own, one of them plain Exceptions
        what = str(error).strip().splitlines() or [type(error).__name__]
        place = into.rpartition("@")[2]  # without a password
        raise StoreError(f"{place} failed: {what[0]}") from error
