"""Convert office files, web pages, books and notebooks to Markdown.

What a converter is given was checked: no more is unpacked than the limits allow, and HTML and XML
are regular and not nested deeply. What it does with that, `factoid.files.isolation` bounds.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from factoid._optional import require
from factoid.errors import FactoidError, UnreadableFileError
from factoid.files.archives import repack_book, repack_office
from factoid.files.limits import ReadLimits
from factoid.files.lines import read_whole
from factoid.files.web_pages import page_markdown

EXTRA = "documents"

# from a file to its text and its title, or ""
_Converter = Callable[[Path, ReadLimits], tuple[str, str]]

# beside mammoth's own
_WORD_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh > em"
_BLANK_LINES = re.compile(r"\n{3,}")


def convert(path: Path, limits: ReadLimits) -> Iterator[list[str]]:
    """Yield one pair: the text of a file as Markdown, and its title or "".

    The file's ending tells what it is.

    Raises:
        UnreadableFileError: The file is missing, damaged or above a limit.
        MissingDependencyError: The extra `documents` is not installed.
    """
    ending = path.suffix.lower()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text, title = _CONVERTERS[ending](path, limits)
    except (FactoidError, MemoryError):
        raise
    except RecursionError:
        limits.refuse_nesting(path)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UnreadableFileError(f"{path} cannot be converted: {reason:.200}") from error
    lines = map(_without_trailing_space, text.split("\n"))
    yield [_BLANK_LINES.sub("\n\n", "\n".join(lines)), title]


def _without_trailing_space(line: str) -> str:
    """Return a line of Markdown without the white space at its end.

    Two spaces that break a line stay.
    """
    content = line.rstrip()
    is_break = bool(content) and line.startswith("  ", len(content))
    if is_break:
        return f"{content}  "
    return content


def _web_page(path: Path, limits: ReadLimits) -> tuple[str, str]:
    return page_markdown(read_whole(path, limits), str(path), limits)


def _word_document(path: Path, limits: ReadLimits) -> tuple[str, str]:
    mammoth: Any = require("mammoth", extra=EXTRA)
    formulas: Any = require("markitdown.converter_utils.docx.pre_process", extra=EXTRA)
    with repack_office(path, limits) as content:
        # only what their alternative texts say
        pictures = mammoth.images.img_element(lambda _: {"src": ""})
        source = formulas.pre_process_docx(content)
        page = mammoth.convert_to_html(source, style_map=_WORD_STYLES, convert_image=pictures).value
    return page_markdown(page.encode(), str(path), limits)


def _by_markitdown(
    name: str, open_content: Callable[[Path, ReadLimits], AbstractContextManager[BinaryIO]]
) -> _Converter:
    """Return a function that converts a file with a converter of markitdown."""

    def converted(path: Path, limits: ReadLimits) -> tuple[str, str]:
        markitdown = require("markitdown", extra=EXTRA)
        converters = require("markitdown.converters", extra=EXTRA)
        converter = getattr(converters, f"{name}Converter")()
        with open_content(path, limits) as content:
            result = converter.convert(
                content, markitdown.StreamInfo(extension=path.suffix.lower(), charset="utf-8")
            )
        return result.markdown, result.title or ""

    return converted


def _read_notebook(path: Path, limits: ReadLimits) -> BytesIO:
    return BytesIO(read_whole(path, limits))


_CONVERTERS: dict[str, _Converter] = {
    ".docx": _word_document,
    ".pptx": _by_markitdown("Pptx", repack_office),
    ".html": _web_page,
    ".htm": _web_page,
    ".epub": _by_markitdown("Epub", repack_book),
    ".ipynb": _by_markitdown("Ipynb", _read_notebook),
}
CONVERTED_ENDINGS = frozenset(_CONVERTERS)
