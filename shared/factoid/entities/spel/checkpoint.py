"""SpEL's published checkpoints: a .pt file with a dict of state dicts, and no code."""

from __future__ import annotations

import pickle  # for the name of an error alone: nothing is unpickled here
import re
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.entities.spel.weights import Weights, make_weights
from factoid.errors import UnreadableFileError

KEYS = ("bert_lm", "number_of_bert_layers", "bert_lm_h", "out")

_ENCODER = "roberta."
_HEAD = "lm_head."  # of the masked language model that the encoder was; it plays no part
_DAMAGED = (
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    RuntimeError,
    ValueError,
    LookupError,
    EOFError,
    OSError,
    AttributeError,
    TypeError,
)
_FOREIGN = re.compile(r"Unsupported (?:global: GLOBAL|class) (\S+)")
_CHUNK = 2**22  # bytes read at a time


def read_checkpoint(path: str | PathLike[str]) -> Weights:
    """Return the weights of a checkpoint in the published format.

    That is a dict of `bert_lm`, the state dict of a `RobertaForMaskedLM`, `number_of_bert_layers`, its layers and one,
    `bert_lm_h`, its dimensions, and `out`, the state dict of an `Embedding` of one row for each entity.

    The file is read once from end to end to compare its checksums, about 0.3 seconds a gigabyte beside what the disk takes;
    files in PyTorch's format from before version 1.6 have none.

    Raises:
        UnreadableFileError: The file is missing, damaged, holds anything but tensors and plain values, or another model.
        MissingDependencyError: PyTorch is not installed.
    """
    path = Path(path)
    found = _load(path)
    missing = [key for key in KEYS if key not in found] if isinstance(found, Mapping) else KEYS
    if missing:
        got = ", ".join(map(str, found)) if isinstance(found, Mapping) else type(found).__name__
        message = f"{path} is no SpEL checkpoint: expected a dict with {', '.join(KEYS)}, got {got or 'an empty dict'}"
        raise UnreadableFileError(message)
    try:
        return _read(found)
    except UnreadableFileError as error:
        message = f"{path} is no SpEL checkpoint: {error}"
        raise UnreadableFileError(message) from error


def _load(path: Path) -> Any:
    torch = require("torch", extra="spel")
    if not path.is_file():
        message = f"there is no checkpoint {path}: expected a file such as spel-base-step-3-500K.pt"
        raise UnreadableFileError(message)
    try:
        zipped = zipfile.is_zipfile(path)
        if zipped:
            _check_sums(path)
        # Mapped, the language model's head takes no memory; only the zip format can be.
        return torch.load(path, map_location="cpu", weights_only=True, mmap=zipped)
    except _DAMAGED as error:
        message = (
            f"cannot read the checkpoint {path}: {_reason(error)}. Expected a whole .pt file of tensors and plain values; "
            "one that is damaged, or holds code, is refused. Get the file again"
        )
        raise UnreadableFileError(message) from error


def _check_sums(path: Path) -> None:
    """Compare each part of a zip file with its checksum: PyTorch does not.

    Raises:
        zipfile.BadZipFile: One has changed, or is compressed, which a mapped file cannot be.
    """
    with zipfile.ZipFile(path) as parts:
        for part in parts.infolist():
            if part.compress_type != zipfile.ZIP_STORED:
                message = f"{part.filename} is compressed, which PyTorch does not do"
                raise zipfile.BadZipFile(message)
            try:
                with parts.open(part) as file:
                    while file.read(_CHUNK):
                        pass
            except zipfile.BadZipFile as error:
                message = f"{part.filename} has changed since it was written ({error})"
                raise zipfile.BadZipFile(message) from error


def _reason(error: Exception) -> str:
    """Return why a file is refused, without PyTorch's advice to load it nevertheless, which would run what it holds."""
    text = str(error).strip()
    if foreign := _FOREIGN.search(text):
        return f"it holds {foreign[1]}, which is no tensor and no plain value"
    if "weights_only" in text or isinstance(error, LookupError | AttributeError | TypeError):
        return "it is no file of PyTorch, or holds more than tensors and plain values"
    return text.partition("\n")[0][:200].rstrip(".") or type(error).__name__


def _read(found: Mapping[Any, Any]) -> Weights:
    language_model, out = found["bert_lm"], found["out"]
    for name, part in (("bert_lm", language_model), ("out", out)):
        if not isinstance(part, Mapping):
            message = f"expected a state dict as {name}, got {type(part).__name__}"
            raise UnreadableFileError(message)
    if "weight" not in out:
        message = f"expected weight in out, got {', '.join(map(str, out)) or 'nothing'}"
        raise UnreadableFileError(message)
    names = [str(name) for name in language_model if not str(name).startswith(_HEAD)]
    foreign = [name for name in names if not name.startswith(_ENCODER)]
    if foreign or not names:
        message = f"expected {_ENCODER}* and {_HEAD}* in bert_lm, got {foreign[0] if foreign else 'neither'}"
        raise UnreadableFileError(message)
    weights = make_weights({name.removeprefix(_ENCODER): language_model[name] for name in names}, out["weight"])
    stated = (found["number_of_bert_layers"], found["bert_lm_h"])
    actual = (weights.sizes.num_hidden_layers + 1, weights.sizes.hidden_size)
    if stated != actual:
        message = f"number_of_bert_layers and bert_lm_h are {stated}, but the tensors' are {actual}"
        raise UnreadableFileError(message)
    return weights
