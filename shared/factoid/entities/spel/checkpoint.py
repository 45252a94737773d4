"""The files of a SpEL model: the published .pt, a dict of state dicts and no code; and the folder that a conversion writes.

The folder holds safetensors, JSON and a manifest with the checksum of each file.
"""

from __future__ import annotations

import hashlib
import json
import pickle  # for the name of an error alone: nothing is unpickled here
import re
import zipfile
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.entities.spel.predict import SIZE
from factoid.entities.spel.vocabulary import Vocabulary
from factoid.errors import StoreFormatError, UnreadableFileError
from factoid.files.atomic import part_beside, sync_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

MANIFEST, TOKENIZER_FILE = "factoid-spel.json", "tokenizer.json"

_IDENTITY = {"format": "factoid-spel", "version": 1}
_VOCABULARY, _WEIGHTS = "vocabulary.json", "model.safetensors"
_FILES = (_VOCABULARY, _WEIGHTS, TOKENIZER_FILE)
_OUT, _ENCODER = "out.weight", "encoder."  # names of tensors in the folder
_PUBLISHED_ENCODER = "roberta."
_LM_HEAD = "lm_head."  # of the masked language model that the encoder was; it plays no part
_FOREIGN_TYPES = (LookupError, AttributeError, TypeError)
_DAMAGED = (pickle.UnpicklingError, zipfile.BadZipFile, RuntimeError, ValueError, EOFError, OSError, *_FOREIGN_TYPES)
_FOREIGN = re.compile(r"Unsupported (?:global: GLOBAL|class) (\S+)")
_HEAD_SIZE = 64  # dimensions of an attention head, in every RoBERTa
_PADDING = 1  # id of <pad>; positions count from the one after it
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_UNUSED = re.compile(r"embeddings\.(position_ids|token_type_ids)|pooler\..*")


def read_checkpoint(path: str | PathLike[str]) -> tuple[Any, Tensor]:
    """Return the encoder and the output embedding of a checkpoint in the published format.

    That is a dict of `bert_lm`, the state dict of a `RobertaForMaskedLM`, `number_of_bert_layers`, its layers and one,
    `bert_lm_h`, its dimensions, and `out`, the state dict of an `Embedding` of one row for each entity.

    The file is read once from end to end to compare its checksums, about 0.3 seconds a gigabyte beside what the disk takes;
    files in PyTorch's format from before version 1.6 have none.

    Raises:
        UnreadableFileError: The file is missing, damaged, holds anything but tensors and plain values, or another model.
    """
    torch = require("torch", extra="spel")
    path = Path(path)
    if not path.is_file():
        message = f"there is no checkpoint {path}: expected a file such as spel-base-step-3-500K.pt"
        raise UnreadableFileError(message)
    try:
        zipped = zipfile.is_zipfile(path)
        if zipped:
            _check_sums(path)
        # Mapped, the language model's head takes no memory; only the zip format can be.
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=zipped)
    except _DAMAGED as error:
        message = (
            f"cannot read the checkpoint {path}: {_reason(error)}. Expected a whole .pt file of tensors and plain values; "
            "one that is damaged, or holds code, is refused. Get the file again"
        )
        raise UnreadableFileError(message) from error
    try:
        return _weights(content)
    except UnreadableFileError as error:
        message = f"{path} is no SpEL checkpoint: {error}"
        raise UnreadableFileError(message) from error


def _check_sums(path: Path) -> None:
    """Compare each part of a zip file with its checksum: PyTorch does not. Refuse compressed parts, which cannot be mapped."""
    with zipfile.ZipFile(path) as parts:
        packed = (part.filename for part in parts.infolist() if part.compress_type != zipfile.ZIP_STORED)
        if name := next(packed, None):
            message = f"{name} is compressed, which PyTorch does not do"
            raise zipfile.BadZipFile(message)
        if name := parts.testzip():
            message = f"{name} has changed since it was written"
            raise zipfile.BadZipFile(message)


def _reason(error: Exception) -> str:
    """Return why a file is refused, without PyTorch's advice to load it nevertheless, which would run what it holds."""
    text = str(error).strip()
    if foreign := _FOREIGN.search(text):
        return f"it holds {foreign[1]}, which is no tensor and no plain value"
    if "weights_only" in text or isinstance(error, _FOREIGN_TYPES):
        return "it is no file of PyTorch, or holds more than tensors and plain values"
    return text.partition("\n")[0][:200].rstrip(".") or type(error).__name__


def _weights(content: Any) -> tuple[Any, Tensor]:
    _check_keys("a dict", content, ("bert_lm", "number_of_bert_layers", "bert_lm_h", "out"))
    _check_keys("out", content["out"], ("weight",))
    _check_keys("bert_lm", content["bert_lm"], ())
    tensors = {}
    for name, tensor in content["bert_lm"].items():
        if str(name).startswith(_PUBLISHED_ENCODER):
            tensors[name.removeprefix(_PUBLISHED_ENCODER)] = tensor
        elif not str(name).startswith(_LM_HEAD):
            message = f"expected {_PUBLISHED_ENCODER}* and {_LM_HEAD}* in bert_lm, got {name}"
            raise UnreadableFileError(message)
    encoder = _make_encoder(tensors)
    stated = (content["number_of_bert_layers"], content["bert_lm_h"])
    actual = (encoder.config.num_hidden_layers + 1, encoder.config.hidden_size)
    if stated != actual:
        message = f"number_of_bert_layers and bert_lm_h are {stated}, but the tensors' are {actual}"
        raise UnreadableFileError(message)
    return encoder, _check_tensors({_OUT: content["out"]["weight"]}, hidden=actual[1])[_OUT]


def _check_keys(name: str, content: Any, keys: tuple[str, ...]) -> None:
    if not isinstance(content, Mapping) or not set(keys) <= content.keys():
        actual = ", ".join(map(str, content)) if isinstance(content, Mapping) else type(content).__name__
        message = f"expected {name} with {', '.join(keys) or 'tensors by name'}, got {actual or 'an empty dict'}"
        raise UnreadableFileError(message)


def write_folder(folder: Path, encoder: Any, out: Tensor, vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
    """Write a model; the folder, which must be new or empty, appears with all its files or not at all."""
    save = require("safetensors.torch", extra="spel").save_file
    tensors = {_OUT: out, **{_ENCODER + name: tensor for name, tensor in encoder.state_dict().items()}}
    try:
        with part_beside(folder, folder=True) as part:
            _write_json(part / _VOCABULARY, list(vocabulary.entries))
            tokenizer.save(str(part / TOKENIZER_FILE))
            save(tensors, str(part / _WEIGHTS))
            (part / _WEIGHTS).chmod((part / _VOCABULARY).stat().st_mode)  # else only its owner can read it
            _write_json(part / MANIFEST, {**_IDENTITY, "files": {name: _state(part / name) for name in _FILES}})
            for name in (*_FILES, MANIFEST):
                sync_file(part / name)
            part.rename(folder)  # replaces an empty folder, and no other
    except OSError as error:
        message = f"cannot write the model to {folder}: {error.strerror or error}"
        raise UnreadableFileError(message) from error


def read_folder(folder: Path) -> tuple[Any, Tensor, Vocabulary]:
    """Return the encoder, the output embedding and the vocabulary of a folder, after comparing all its files with the manifest.

    Raises:
        UnreadableFileError: There is no such folder, or it holds no manifest.
        StoreFormatError: A file is missing or changed, or the folder is of another version.
    """
    again = "Convert the checkpoint again with factoid convert-spel"
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        identity = {key: manifest[key] for key in _IDENTITY}
        states = {name: manifest["files"][name] for name in _FILES}
    except OSError as error:
        message = f"{folder} is no SpEL model: it has no readable {MANIFEST}. {again}"
        raise UnreadableFileError(message) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"{folder / MANIFEST} is damaged: {error}. {again}"
        raise StoreFormatError(message) from error
    if identity != _IDENTITY:
        message = f"{folder} is of format {identity['format']!r} version {identity['version']!r}: expected {_IDENTITY}"
        raise StoreFormatError(message)
    for name, state in states.items():
        path = folder / name
        if not path.is_file() or _state(path) != state:
            message = f"{path} {'has changed since it was written' if path.is_file() else 'is missing'}. {again}"
            raise StoreFormatError(message)
    entries = json.loads((folder / _VOCABULARY).read_text(encoding="utf-8"))
    tensors = require("safetensors.torch", extra="spel").load_file(str(folder / _WEIGHTS))
    out = tensors.pop(_OUT, None)
    encoder = _make_encoder({name.removeprefix(_ENCODER): tensor for name, tensor in tensors.items()})
    out = _check_tensors({_OUT: out}, hidden=encoder.config.hidden_size)[_OUT]
    if len(entries) != len(out):
        message = f"{folder} is damaged: {_WEIGHTS} and {_VOCABULARY} do not fit each other. {again}"
        raise StoreFormatError(message)
    return encoder, out, Vocabulary(tuple(entries))


def _state(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def limit(encoder: Any) -> int:
    """Return the most tokens that an encoder reads, <s> and </s> included."""
    return int(encoder.config.max_position_embeddings) - _PADDING - 1


def _make_encoder(tensors: Mapping[str, Any]) -> Any:
    """Return a `RobertaModel` in evaluation mode on the CPU, of which the sizes come from the shapes of its tensors.

    What inference does not need is left out.

    Raises:
        UnreadableFileError: Something is missing, is too much, is no tensor or no finite number, or the shapes do not fit.
    """
    torch, transformers = require("torch", extra="spel"), require("transformers", extra="spel")
    tensors = _check_tensors({name: tensor for name, tensor in tensors.items() if not _UNUSED.fullmatch(name)})
    config = transformers.RobertaConfig(**_sizes(tensors), pad_token_id=_PADDING, layer_norm_eps=1e-5)
    with torch.device("meta"):  # random weights would take seconds, and random numbers from the caller
        model = transformers.RobertaModel(config, add_pooling_layer=False)
    try:
        model.load_state_dict(tensors, assign=True)
    except RuntimeError as error:
        expected, actual = set(model.state_dict()), set(tensors)
        message = (
            "the encoder's tensors are not those of a RoBERTa: missing "
            f"{_some(expected - actual)}, unexpected {_some(actual - expected)}"
            f"{'' if expected != actual else ', of another shape: ' + str(error).splitlines()[-1].strip()}"
        )
        raise UnreadableFileError(message) from error
    positions = torch.arange(config.max_position_embeddings).unsqueeze(0)
    model.embeddings.position_ids = positions  # buffers that no checkpoint holds
    model.embeddings.token_type_ids = torch.zeros_like(positions)
    return model.requires_grad_(False).eval()


def _check_tensors(tensors: Mapping[str, Any], *, hidden: int | None = None) -> dict[str, Tensor]:
    """Return tensors in float32.

    Raises:
        UnreadableFileError: One is no tensor, holds numbers that are not finite, or is not of shape (any, hidden).
    """
    torch = require("torch", extra="spel")
    foreign = [
        name for name, tensor in tensors.items() if not torch.is_tensor(tensor) or not tensor.is_floating_point()
    ]
    if foreign:
        message = f"expected tensors of numbers, got something else as {_some(foreign)}"
        raise UnreadableFileError(message)
    numbers = {name: tensor.float().contiguous() for name, tensor in tensors.items()}
    for name, tensor in numbers.items():
        if hidden and (tensor.ndim != 2 or tensor.shape[1] != hidden):
            message = f"the shape of {name} is {tuple(tensor.shape)}: expected (entities, {hidden})"
            raise UnreadableFileError(message)
        # A sum is fifteen times faster than to ask each value. It may overflow where all of them are finite.
        if not tensor.sum().isfinite() and (wrong := ~tensor.isfinite()).any():
            message = (
                f"{int(wrong.sum()):,} of the {tensor.numel():,} values of {name} are NaN or infinite, the first of them at "
                f"{wrong.nonzero()[0].tolist()}: the file is damaged, or the training failed"
            )
            raise UnreadableFileError(message)
    return numbers


def _sizes(tensors: Mapping[str, Any]) -> dict[str, int]:
    try:
        words, hidden = tensors["embeddings.word_embeddings.weight"].shape
        positions = tensors["embeddings.position_embeddings.weight"].shape[0]
        types = tensors["embeddings.token_type_embeddings.weight"].shape[0]
        inner = tensors["encoder.layer.0.intermediate.dense.weight"].shape[0]
    except (KeyError, ValueError, IndexError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        message = f"the encoder is no RoBERTa: {reason}. Expected a checkpoint of SpEL base or large"
        raise UnreadableFileError(message) from error
    if hidden % _HEAD_SIZE or positions < SIZE + _PADDING + 1:
        message = (
            f"the encoder has {hidden} dimensions and {positions} positions: expected a multiple of {_HEAD_SIZE} dimensions "
            f"(768 base, 1024 large), and at least {SIZE + _PADDING + 1} positions, for windows of {SIZE} tokens"
        )
        raise UnreadableFileError(message)
    return {
        "vocab_size": words,
        "hidden_size": hidden,
        "num_hidden_layers": len({match[1] for name in tensors if (match := _LAYER.match(name))}),
        "num_attention_heads": hidden // _HEAD_SIZE,
        "intermediate_size": inner,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
    }


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    further = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) or "none") + further
