"""Convert PDFs, office files, web pages, books and notebooks to Markdown, with markitdown.

What a converter is given was checked: no more is unpacked than the limits allow, and HTML and XML are regular and not nested
deeply. What it does with that, `factoid.files.isolation` bounds.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from factoid._optional import require
from factoid.errors import FactoidError, UnreadableFileError
from factoid.files.archives import repack_book, repack_office
from factoid.files.limits import ReadLimits
from factoid.files.lines import read_whole
from factoid.files.markup import regular_html
from factoid.files.pdf_streams import open_pdf

EXTRA = "documents"

_BLANK_LINES = re.compile(r"\n{3,}")


def convert(path: Path, limits: ReadLimits) -> Iterator[list[str]]:
    """Yield one pair: the text of a file as Markdown, and its title or "". The file's ending tells what it is.

    Raises:
        UnreadableFileError: The file is missing, damaged or above a limit.
        MissingDependencyError: The extra `documents` is not installed.
    """
    markitdown = require("markitdown", extra=EXTRA)
    converters = require("markitdown.converters", extra=EXTRA)
    ending = path.suffix.lower()
    name, open_content = _CONVERTERS[ending]
    converter = getattr(converters, f"{name}Converter")()
    with open_content(path, limits) as content, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = converter.convert(content, markitdown.StreamInfo(extension=ending, charset="utf-8"))
        except (FactoidError, MemoryError):
            raise
        except RecursionError:
            limits.refuse_nesting(path)
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UnreadableFileError(f"{path} cannot be converted: {reason:.200}") from error
    lines = (line.rstrip() for line in result.markdown.split("\n"))
    yield [_BLANK_LINES.sub("\n\n", "\n".join(lines)), result.title or ""]


def _read_page(path: Path, limits: ReadLimits) -> BytesIO:
    return BytesIO(regular_html(read_whole(path, limits), str(path), limits))


def _read_notebook(path: Path, limits: ReadLimits) -> BytesIO:
    return BytesIO(read_whole(path, limits))


# The converter for each ending, and what opens a file for it.
_CONVERTERS: dict[str, tuple[str, Callable[[Path, ReadLimits], AbstractContextManager[BinaryIO]]]] = {
    ".pdf": ("Pdf", open_pdf),
    ".docx": ("Docx", repack_office),
    ".pptx": ("Pptx", repack_office),
    ".html": ("Html", _read_page),
    ".htm": ("Html", _read_page),
    ".epub": ("Epub", repack_book),
    ".ipynb": ("Ipynb", _read_notebook),
}
CONVERTED_ENDINGS = frozenset(_CONVERTERS)
