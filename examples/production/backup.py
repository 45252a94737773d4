"""Back up a store while it is used, and restore it.

python backup.py make STORE BACKUPS --keep 7
python backup.py restore BACKUPS/20260131T020000000000Z STORE
"""

from __future__ import annotations

import argparse
from pathlib import Path

from stores import publish

from factoid import UnitStore


def make(store: Path, backups: Path, *, keep: int) -> Path:
    """Copy a store into a folder of backups, check the copy, and return its path.

    Only then old ones are deleted.
    """

    def checked_copy(target: Path) -> None:
        with UnitStore(store, encoder=None, read_only=True) as opened:
            opened.copy_to(target)
        check(target)

    return publish(checked_copy, backups, keep=keep)


def check(folder: Path) -> None:
    """Raise SystemExit if a store is damaged."""
    with UnitStore(folder, encoder=None, read_only=True) as store:
        problems = store.verify()
    if problems:
        raise SystemExit(f"{folder} is damaged: {'; '.join(problems)}")


def restore(backup: Path, store: Path) -> Path | None:
    """Put a copy of a backup in the place of a store that no process has open.

    Return where the store is now, if any was.
    """
    check(backup)
    arriving = store.with_name(f"{store.name}.restored")
    with UnitStore(backup, encoder=None, read_only=True) as opened:
        opened.copy_to(arriving)
    aside = (
        store.with_name(f"{store.name}.before-{backup.resolve().name}") if store.exists() else None
    )
    if aside is not None:
        store.rename(aside)
    arriving.rename(store)
    return aside


def main() -> None:
    """Run a command of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="copy a store that may be in use")
    making.add_argument("store", type=Path)
    making.add_argument("backups", type=Path)
    making.add_argument("--keep", type=int, default=7)
    restoring = commands.add_parser(
        "restore", help="put a backup in the place of a store that nobody has open"
    )
    restoring.add_argument("backup", type=Path)
    restoring.add_argument("store", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "make":
        print(make(arguments.store, arguments.backups, keep=arguments.keep))
    else:
        aside = restore(arguments.backup, arguments.store)
        print(f"restored{f'; what was there is {aside}' if aside else ''}")


if __name__ == "__main__":
    main()
