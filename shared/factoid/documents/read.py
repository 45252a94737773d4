"""Files, results of layout services and bare Markdown into layouts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from factoid.documents.azure import EXPECTED, read_result
from factoid.documents.layout import Layout, broken_pages
from factoid.documents.pdf import read_pdf
from factoid.errors import InvalidInputError, UnreadableFileError


def read_layout(source: str | PathLike[str] | Mapping[str, Any] | Any) -> Layout:
    """Read the result of a layout service.

    Args:
        source: A path of a JSON file, the parsed JSON, or an object of the service's Python package (with `as_dict` or
            `to_dict`). API v2.1, v3.x and v4 of Azure Document Intelligence, content as text or Markdown, and Azure Content
            Understanding, with or without the envelope of the operation. A file that ends in .md or .txt is bare Markdown, and a
            PDF is read without a service (`read_pdf`).

    Raises:
        UnreadableFileError: The file is missing, no JSON or cut off.
        InvalidInputError: It is JSON of something else, the operation has failed, or a field is of a wrong type.
    """
    if isinstance(source, str | PathLike):
        return _read_file(Path(source))
    if not isinstance(source, Mapping):
        convert = getattr(source, "as_dict", None) or getattr(source, "to_dict", None)
        source = convert() if callable(convert) else source
    if not isinstance(source, Mapping):
        raise InvalidInputError(f"a {type(source).__name__} is no layout: {EXPECTED}, its JSON file or an SDK object")
    return read_result(source)


def read_markdown(content: str) -> Layout:
    """Read bare Markdown, as converters and layout services write it. Comments that are page breaks tell its pages."""
    return Layout(content, pages=broken_pages(content))


def _read_file(path: Path) -> Layout:
    if path.suffix.lower() == ".pdf":
        return read_pdf(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() in (".md", ".markdown", ".txt"):
            return read_markdown(text)
        result = json.loads(text)
    except OSError as error:
        raise UnreadableFileError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        advice = "Analyse the document again; a file of Markdown needs a name that ends in .md"
        raise UnreadableFileError(f"{path} is no JSON, or was cut off: {error}. {advice}") from error
    if not isinstance(result, Mapping):
        raise InvalidInputError(f"{path} holds a {type(result).__name__}: {EXPECTED}")
    return read_result(result)
