"""The words of a collection in a file, so that a program that starts need not read all passages.

The file is a cache: one that is damaged, of another language or of another version is made anew. A
program that opens it compares the ids of the collection's passages with those in the file.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from factoid.existing.words import Words
from factoid.files.arrays import read_arrays, write_arrays
from factoid.files.atomic import HashingWriter, write_file

_VERSION = 1
_STRINGS = "strings"  # JSON in UTF-8, as an array of bytes

logger = logging.getLogger(__name__)


def save_words(words: Words, path: Path) -> None:
    """Write the words of a collection, whole or not at all."""
    with words.lock:
        arrays = words.index.arrays()
        strings = json.dumps(words.strings()).encode()
        facts = {"version": _VERSION, **words.recipe()}
    arrays[_STRINGS] = np.frombuffer(strings, np.uint8)
    write_file(path, partial(_write, facts, arrays))


def _write(facts: dict[str, Any], arrays: dict[str, NDArray[Any]], out: HashingWriter) -> None:
    write_arrays(cast(BinaryIO, out), facts, arrays)


def load_words(path: Path, template: str, language: str) -> Words | None:
    """Return the words that a file holds; None if there is none, or it cannot be used."""
    words = Words(template, language)
    if not path.exists():
        return None
    try:
        facts, arrays = read_arrays(path)
        expected = {"version": _VERSION, **words.recipe()}
        if facts != expected:
            raise ValueError(f"it was made as {facts}, and {expected} is asked for")
        strings = json.loads(bytes(arrays.pop(_STRINGS)))
        words.restore(strings, arrays)
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("the words in %s cannot be used and are read again: %s", path, error)
        return None
    return words
