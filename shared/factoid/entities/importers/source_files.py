"""Which files the importers read."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

from factoid.entities.articles.sources import describe_files
from factoid.errors import UnreadableFileError

Paths = str | Path | Iterable[str | Path]


class FileSource:
    """Files of one format.

    Args:
        paths: A file or folder, or several. Files are taken whatever their names; folders are searched for the format's
            usual names.
    """

    patterns: ClassVar[tuple[str, ...]]  # in lower case and without the ending of a compressed file

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._options: dict[str, str] = {}

    @property
    def name(self) -> str:
        """What is read: the importer, its options, and its files with their sizes and times of change."""
        return describe_files(type(self).__name__, self._files(), **self._options)

    def _files(self) -> list[Path]:
        """List the files, those of folders in the order of their names.

        Raises:
            UnreadableFileError: A path is missing, or there is no file to read.
        """
        expected = f"expected files named {', '.join(self.patterns)}, plain, .gz or .bz2"
        files: dict[Path, None] = {}  # what is named twice is read once
        for path in map(Path, [self._paths] if isinstance(self._paths, str | Path) else self._paths):
            if not path.exists():
                message = f"{path} does not exist"
                raise UnreadableFileError(message)
            members = (
                [file for file in visible_files(path) if is_named(file, self.patterns)] if path.is_dir() else [path]
            )
            if not members:
                message = f"{path} holds no file to read: {expected}"
                raise UnreadableFileError(message)
            files.update(dict.fromkeys(members))
        if not files:
            message = f"there is no file to read: {expected}"
            raise UnreadableFileError(message)
        return list(files)


def visible_files(folder: Path) -> list[Path]:
    """List the files in a folder and its subfolders by name, without hidden ones."""
    names = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return sorted(folder / name for name in names if not any(part.startswith(".") for part in name.parts))


def is_named(file: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a file's name fits one of some patterns, in any case, compressed or not."""
    name = file.name.lower().removesuffix(".gz").removesuffix(".bz2")
    return any(fnmatchcase(name, pattern) for pattern in patterns)
