"""Files that articles are read from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

from factoid.entities.articles.article import Record
from factoid.errors import UnreadableFileError
from factoid.files.lines import visible_files

Paths = str | Path | Iterable[str | Path]
KEYS_HINT = (
    ". Say what they are called with title_key and text_key, on the command line with --title-key and --text-key"
)


class FileSource:
    """A source of articles in files of one format: all named files, and in folders those with the format's usual names.

    Files may be plain, or compressed by gzip or bzip2. `options` are all other settings that the records depend on.
    """

    patterns: ClassVar[tuple[str, ...]]  # in lower case and without the ending of a compressed file
    _records: Callable[[Path], Iterator[Record]]  # of one file; for classes without a `read` of their own

    def __init__(self, paths: Paths, **options: Any) -> None:
        self._paths = [Path(paths)] if isinstance(paths, str | Path) else [*map(Path, paths)]
        self._options = options

    @property
    def name(self) -> str:
        """The importer, its options, its paths, and a digest of the files' sizes and modification times."""
        files = [(f"{file.absolute()}", file.stat().st_size, file.stat().st_mtime_ns) for file in self._files()]
        digest = hashlib.sha256(repr(files).encode()).hexdigest()[:16]
        options = (f" {name}={value!r}" for name, value in sorted(self._options.items()) if name != f"{value}_key")
        places = ", ".join(map(str, self._paths))
        return f"{type(self).__name__}{''.join(options)}: {places} (files: {len(files)}, digest: {digest})"

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on, or raise an UnreadableFileError that says where a file is damaged."""
        return islice(chain.from_iterable(map(self._records, self._files())), skip, None)

    def _files(self) -> list[Path]:
        """List the files, those of folders in the order of their names."""
        files: dict[Path, None] = {}  # a file that is named twice is read once
        for path in self._paths:
            if not path.exists():
                raise UnreadableFileError(f"{path} cannot be read: No such file or directory")
            members = visible_files(path) if path.is_dir() else [path]
            files |= dict.fromkeys(file for file in members if file == path or is_named(file, self.patterns))
        if not files:
            places, patterns = ", ".join(map(str, self._paths)) or "no path", ", ".join(self.patterns)
            raise UnreadableFileError(f"no file to read in {places}: expected {patterns}, plain, .gz or .bz2")
        return list(files)


def is_named(file: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a file's name matches one of some patterns, in any case, compressed or not."""
    name = file.name.lower().removesuffix(".gz").removesuffix(".bz2")
    return any(fnmatchcase(name, pattern) for pattern in patterns)
