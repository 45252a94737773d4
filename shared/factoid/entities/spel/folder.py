"""A SpEL model as a folder: safetensors, JSON and a manifest with the checksum of each file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.entities.spel.tokenizer import TOKENIZER_FILE
from factoid.entities.spel.unfinished import unfinished
from factoid.entities.spel.vocabulary import Vocabulary
from factoid.entities.spel.weights import OUT, Sizes, Weights, make_weights
from factoid.errors import InvalidInputError, StoreFormatError, UnreadableFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MANIFEST = "factoid-spel.json"

_FORMAT, _VERSION = "factoid-spel", 1
_CONFIG, _VOCABULARY, _WEIGHTS = "config.json", "vocabulary.json", "model.safetensors"
_FILES = (_CONFIG, _VOCABULARY, _WEIGHTS, TOKENIZER_FILE)
_ENCODER = "encoder."


def write_folder(folder: Path, weights: Weights, vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
    """Write a model; the folder appears with all its files or not at all.

    What is being written has the name of the folder and ".<hex>.part" after it; what a process that was killed left there is
    removed by the next one that writes the same folder.

    Raises:
        InvalidInputError: The folder is there already and not empty.
        UnreadableFileError: It cannot be written.
    """
    check_free(folder)
    save = require("safetensors.torch", extra="spel").save_file
    tensors = {OUT: weights.out, **{_ENCODER + name: tensor for name, tensor in weights.encoder.items()}}
    writers: dict[str, Callable[[Path], object]] = {
        _CONFIG: lambda path: _write_json(path, {"model_type": "roberta", **asdict(weights.sizes)}),
        _VOCABULARY: lambda path: _write_json(path, list(vocabulary.entries)),
        _WEIGHTS: lambda path: save({name: tensor.contiguous() for name, tensor in tensors.items()}, str(path)),
        TOKENIZER_FILE: lambda path: tokenizer.save(str(path)),
    }
    try:
        with unfinished(folder) as part:
            files = {name: _written(part / name, write) for name, write in writers.items()}
            _write_json(part / MANIFEST, {"format": _FORMAT, "version": _VERSION, "files": files})
            _sync(part / MANIFEST)
    except OSError as error:
        message = f"cannot write the model to {folder}: {error.strerror or error}"
        raise UnreadableFileError(message) from error


def read_folder(folder: Path) -> tuple[Weights, Vocabulary]:
    """Return the weights and the vocabulary of a folder, after comparing all its files with the manifest.

    Raises:
        UnreadableFileError: There is no such folder, or it holds no manifest.
        StoreFormatError: A file is missing or changed, or the folder is of another version.
    """
    _check_files(folder)
    config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    entries = json.loads((folder / _VOCABULARY).read_text(encoding="utf-8"))
    tensors = require("safetensors.torch", extra="spel").load_file(str(folder / _WEIGHTS))
    out = tensors.pop(OUT, None)
    weights = make_weights({name.removeprefix(_ENCODER): tensor for name, tensor in tensors.items()}, out)
    if config != {"model_type": "roberta", **asdict(weights.sizes)} or len(entries) != len(weights.out):
        names = ", ".join(field.name for field in fields(Sizes))
        message = f"{folder} is damaged: its weights, {_CONFIG} ({names}) and {_VOCABULARY} do not fit each other"
        raise StoreFormatError(message)
    return weights, Vocabulary(tuple(entries))


def check_free(folder: Path) -> None:
    """Refuse a folder that holds something.

    Raises:
        InvalidInputError: It does, or is no folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        message = f"{folder} is there already: name a new folder, or remove this one"
        raise InvalidInputError(message)


def _check_files(folder: Path) -> None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        known = manifest["format"] == _FORMAT
        version = manifest["version"]
        files = {name: (manifest["files"][name]["bytes"], manifest["files"][name]["sha256"]) for name in _FILES}
    except OSError as error:
        message = f"{folder} is no SpEL model: it has no readable {MANIFEST}. Make one with factoid convert-spel"
        raise UnreadableFileError(message) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"{folder / MANIFEST} is damaged: {error}. Convert the checkpoint again with factoid convert-spel"
        raise StoreFormatError(message) from error
    if not known or version != _VERSION:
        message = f"{folder} is of format {manifest['format']!r} version {version!r}: expected {_FORMAT!r} {_VERSION}"
        raise StoreFormatError(message)
    for name, stated in files.items():
        path = folder / name
        actual = _identity(path) if path.is_file() else None
        if actual != stated:
            what = "is missing" if actual is None else "has changed since it was written"
            message = f"{path} {what}. Convert the checkpoint again with factoid convert-spel"
            raise StoreFormatError(message)


def _written(path: Path, write: Callable[[Path], object]) -> dict[str, Any]:
    path.touch()
    mode = path.stat().st_mode  # as the umask says; safetensors makes files that only their owner can read
    write(path)
    path.chmod(mode)
    _sync(path)
    size, digest = _identity(path)
    return {"bytes": size, "sha256": digest}


def _identity(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
