"""`factoid store`: what a store holds, whether it is whole, and how it is made smaller, copied and moved."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from factoid.commands.options import (
    add_encoder,
    add_filter,
    add_quiet,
    make_encoder,
    print_json,
    read_filter,
    show_progress,
)
from factoid.errors import InvalidInputError, StoreError
from factoid.sqlite_file import FILE
from factoid.store import UnitStore
from factoid.store.exchange import Format
from factoid.store.merge import OnConflict
from factoid.terminal import count

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

SUMMARY = "see what a store holds, check it, make it smaller, copy it, and move units in and out"


def configure(parser: ArgumentParser) -> None:
    """Add the verbs, each with its options."""
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb, (summary, options, _) in VERBS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        own = verbs.add_parser(verb, help=summary, description=description, allow_abbrev=False)
        own.add_argument("store", metavar="DIR", help="the store")
        options(own)
        own.add_argument("--json", action="store_true", help="print the result as JSON")
        own.set_defaults(verb=verb)


def run(args: Namespace) -> None:
    """Run the verb."""
    VERBS[args.verb][2](args)


def _stats(args: Namespace) -> None:
    with _opened(args, read_only=True) as store:
        stats = store.stats()
    _show(args, stats, str(stats))


def _verify(args: Namespace) -> None:
    with _opened(args, read_only=not args.repair) as store:
        report = store.verify(repair=args.repair, show_progress=show_progress(args))
    _show(args, {"ok": report.ok, **asdict(report)}, str(report))
    if not report.ok:
        message = f"the store at {args.store} has {count(len(report.problems), 'problem')}"
        raise StoreError(message)


def _compact(args: Namespace) -> None:
    with _opened(args) as store:
        report = store.compact(show_progress=show_progress(args))
    _show(args, report, str(report))


def _export(args: Namespace) -> None:
    with _opened(args, read_only=True) as store:
        report = store.export(
            args.file, format=args.format, vectors=not args.no_vectors, show_progress=show_progress(args)
        )
    _show(args, {**asdict(report), "files": [str(file) for file in report.files]}, str(report))


def _import(args: Namespace) -> None:
    encoder = None if args.encoder is None else make_encoder(args)
    with UnitStore(args.store, encoder=encoder) as store:
        report = store.import_from(args.file, format=args.format, show_progress=show_progress(args))
    _show(args, report, f"{args.store} took {report}")


def _merge(args: Namespace) -> None:
    with _opened(args) as store:
        report = store.merge(args.other, on_conflict=args.on_conflict, show_progress=show_progress(args))
    _show(args, report, str(report))


def _delete(args: Namespace) -> None:
    condition = read_filter(args.filter)
    if bool(args.ids) == (condition is not None):
        message = "factoid store delete takes ids, or --filter in their place"
        raise InvalidInputError(message)
    with _opened(args) as store:
        if sys.stdin.isatty() and not args.yes:
            chosen = len(store.ids(condition)) if condition is not None else len(args.ids)
            what = count(chosen, "unit") if condition is not None else count(chosen, "id")
            print(
                f"delete {what} from {args.store}, with all that is under them? [y/N] ",
                end="",
                file=sys.stderr,
                flush=True,
            )
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                message = "nothing was deleted"
                raise InvalidInputError(message)
        deleted = store.delete(args.ids or None, filter=condition)
    _show(args, {"deleted": deleted}, f"{count(deleted, 'unit')} deleted")


def _copy(args: Namespace) -> None:
    with _opened(args, read_only=True) as store:
        if "://" in args.to:
            store.save_to(args.to, show_progress=show_progress(args))
        else:
            store.copy_to(args.to)
    _show(args, {"store": args.store, "copy": args.to}, f"{args.to} is a copy of {args.store}")


def _fetch(args: Namespace) -> None:
    with UnitStore.load_from(args.url, args.store, encoder=None, show_progress=show_progress(args)) as store:
        counts = store.counts()
    held = ", ".join(count(number, kind) for kind, number in counts.items()) or "nothing"
    _show(args, {"store": args.store, "total": counts}, f"{args.store} holds {held}")


def _opened(args: Namespace, *, read_only: bool = False) -> UnitStore:
    """Open a store that is there: no verb but import and fetch makes one."""
    if not (Path(args.store) / FILE).exists():
        message = f"there is no store at {args.store}: a store is a folder that holds {FILE}"
        raise StoreError(message)
    return UnitStore(args.store, encoder=None, read_only=read_only)


def _show(args: Namespace, value: Any, text: str) -> None:
    if args.json:
        print_json(asdict(value) if is_dataclass(value) and not isinstance(value, type) else value)
    else:
        print(text)


# The options of each verb


def _no_options(_parser: ArgumentParser) -> None:
    pass


def _verify_options(parser: ArgumentParser) -> None:
    parser.add_argument("--repair", action="store_true", help="mend what follows from the rest of the store")
    add_quiet(parser)


def _file_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="units as .jsonl, .jsonl.gz or .parquet; documents are beside it")
    parser.add_argument("--format", choices=get_args(Format), help="what the file is (default: by its name)")
    add_quiet(parser)


def _export_options(parser: ArgumentParser) -> None:
    _file_options(parser)
    parser.add_argument("--no-vectors", action="store_true", help="leave the vectors out")


def _import_options(parser: ArgumentParser) -> None:
    _file_options(parser)
    add_encoder(parser)


def _merge_options(parser: ArgumentParser) -> None:
    parser.add_argument("other", metavar="OTHER", help="the store to add")
    parser.add_argument(
        "--on-conflict",
        choices=get_args(OnConflict),
        default="replace",
        help="a document or unit that is in both and not the same: take the other's (the default), keep the own, or stop",
    )
    add_quiet(parser)


def _delete_options(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="documents, or units with those under them")
    add_filter(parser, "delete the units whose metadata pass a filter instead")
    parser.add_argument("--yes", action="store_true", help="do not ask, which is done on a terminal only")


def _copy_options(parser: ArgumentParser) -> None:
    parser.add_argument("to", metavar="TO", help="a folder, or an address such as s3://bucket/facts (extra remote)")
    add_quiet(parser)


def _fetch_options(parser: ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="where factoid store copy sent it")
    add_quiet(parser)


VERBS: Mapping[str, tuple[str, Callable[[ArgumentParser], None], Callable[[Namespace], None]]] = {
    "stats": ("count what a store holds", _no_options, _stats),
    "verify": ("check that a store is whole; exits with 1 if it is not", _verify_options, _verify),
    "compact": ("make a store as small as its content", add_quiet, _compact),
    "export": ("write units and documents as JSON lines or Parquet", _export_options, _export),
    "import": ("add what export wrote to a store, made if absent", _import_options, _import),
    "merge": ("add all of another store", _merge_options, _merge),
    "delete": ("delete documents or units, by id or by metadata", _delete_options, _delete),
    "copy": ("copy a store to a folder, or to another file system", _copy_options, _copy),
    "fetch": ("copy a store from another file system into a new folder", _fetch_options, _fetch),
}
