"""Files that articles are read from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

from factoid.errors import UnreadableFileError
from factoid.files.lines import refuse, visible_files

Paths = str | Path | Iterable[str | Path]
KEYS_HINT = (
    ". Say what they are called with title_key and text_key, on the command line with --title-key and --text-key"
)


class FileSource:
    """A source of articles in files of one format: any that are named, and in folders those with its usual names.

    Files may be plain, or compressed by gzip or bzip2. The options are what else the records depend on.
    """

    patterns: ClassVar[tuple[str, ...]]  # in lower case and without the ending of a compressed file

    def __init__(self, paths: Paths, **options: Any) -> None:
        self._paths = [Path(paths)] if isinstance(paths, str | Path) else [*map(Path, paths)]
        self._options = options

    @property
    def name(self) -> str:
        """What is read: the importer, its options, and its files with their sizes and times of change."""
        described = []
        for file in self._files():
            state = file.stat()
            changed = datetime.fromtimestamp(state.st_mtime, tz=UTC)
            described.append(f"{file.absolute()} ({state.st_size:,} bytes, of {changed:%Y-%m-%d %H:%M:%S.%f})")
        if len(described) > 3:  # a folder of many: what they are is kept as a digest
            digest = hashlib.sha256("\n".join(described).encode("utf-8", "surrogateescape")).hexdigest()[:16]
            described = [described[0], f"{len(described) - 1} more files, digest {digest}"]
        options = (f" {name}={value!r}" for name, value in sorted(self._options.items()) if name != f"{value}_key")
        return f"{type(self).__name__}{''.join(options)}: {', '.join(described)}"

    def _files(self) -> list[Path]:
        """List the files, those of folders in the order of their names."""
        files: dict[Path, None] = {}  # what is named twice is read once
        for path in self._paths:
            try:
                path.stat()
            except OSError as error:
                refuse(path, error)
            members = visible_files(path) if path.is_dir() else [path]
            files |= dict.fromkeys(file for file in members if file == path or is_named(file, self.patterns))
        if not files:
            places, patterns = ", ".join(map(str, self._paths)) or "no path", ", ".join(self.patterns)
            raise UnreadableFileError(f"no file to read in {places}: expected {patterns}, plain, .gz or .bz2")
        return list(files)


def is_named(file: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a file's name fits one of some patterns, in any case, compressed or not."""
    name = file.name.lower().removesuffix(".gz").removesuffix(".bz2")
    return any(fnmatchcase(name, pattern) for pattern in patterns)
