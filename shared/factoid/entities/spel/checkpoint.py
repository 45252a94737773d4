"""The files of a SpEL model: the published .pt, and the folder of safetensors and JSON that a conversion writes."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
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
_FOREIGN = (LookupError, TypeError, ValueError, AttributeError, RuntimeError)
_HEAD_SIZE = 64  # dimensions of an attention head, in every RoBERTa
_PADDING = 1  # id of <pad>; positions count from the one after it
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_UNUSED = re.compile(r"embeddings\.(position_ids|token_type_ids)|pooler\..*")


def read_checkpoint(path: Path) -> tuple[Any, Tensor]:
    """Return the encoder and the output embedding of a checkpoint in the published format.

    That is a dict with `bert_lm`, the state dict of a `RobertaForMaskedLM`, and `out`, the state dict of an `Embedding` with a
    row for each entity. All parts of the file are compared with their checksums; files from before PyTorch 1.6 have none.

    Raises:
        UnreadableFileError: The file is missing, damaged, holds anything but tensors and plain values, or another model.
    """
    torch = require("torch", extra="spel")
    if not path.is_file():
        raise UnreadableFileError(f"there is no checkpoint {path}: expected a file such as spel-base-step-3-500K.pt")
    try:
        if zipped := zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as parts:
                changed = parts.testzip()  # PyTorch compares no checksums
            if changed:
                raise zipfile.BadZipFile(f"{changed} has changed since it was written")
        # Mapped, the language model's head takes no memory; only the zip format can be.
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=zipped)
    except Exception as error:  # PyTorch lets through whatever its readers raise
        # PyTorch advises to load the file nevertheless, which would run what it holds.
        advice = "weights_only" in str(error)
        reason = "it holds more than tensors and plain values" if advice else str(error).partition("\n")[0][:200]
        raise UnreadableFileError(
            f"cannot read the checkpoint {path}: {reason}. Expected a whole .pt file of tensors and plain values; one that is "
            "damaged, or holds code, is refused. Get the file again"
        ) from error
    try:
        encoder = _make_encoder(content["bert_lm"], _PUBLISHED_ENCODER)
        out = _numbers("out", content["out"]["weight"])
        if out.ndim != 2 or out.shape[1] != encoder.config.hidden_size:
            raise ValueError(f"out is of shape {tuple(out.shape)}, expected (entities, {encoder.config.hidden_size})")
    except _FOREIGN as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        message = f"{path} is no SpEL checkpoint, a dict with bert_lm, of a RoBERTa, and out: {reason}"
        raise UnreadableFileError(message) from error
    return encoder, out


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
        raise UnreadableFileError(f"cannot write the model to {folder}: {error.strerror or error}") from error


def read_folder(folder: Path) -> tuple[Any, Tensor, Vocabulary]:
    """Return the encoder, the output embedding and the vocabulary of a folder that `write_folder` wrote.

    Raises:
        StoreFormatError: A file is missing or not as the manifest says, or the folder is of another version.
    """
    again = "Convert the checkpoint again with factoid convert-spel"
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        identity = {key: manifest[key] for key in _IDENTITY}
        states = {name: manifest["files"][name] for name in _FILES}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StoreFormatError(f"{folder / MANIFEST} is damaged: {error}. {again}") from error
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
    return _make_encoder(tensors, _ENCODER), tensors[_OUT], Vocabulary(tuple(entries))


def _state(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _make_encoder(state: Mapping[str, Any], prefix: str) -> Any:
    """Return a `RobertaModel` of the tensors with a prefix, its sizes read off them."""
    torch, transformers = require("torch", extra="spel"), require("transformers", extra="spel")
    named = ((name.removeprefix(prefix), tensor) for name, tensor in state.items() if name.startswith(prefix))
    tensors = {name: _numbers(name, tensor) for name, tensor in named if not _UNUSED.fullmatch(name)}
    words, hidden = tensors["embeddings.word_embeddings.weight"].shape
    config = transformers.RobertaConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=len({match[1] for name in tensors if (match := _LAYER.match(name))}),
        num_attention_heads=hidden // _HEAD_SIZE,
        intermediate_size=len(tensors["encoder.layer.0.intermediate.dense.weight"]),
        max_position_embeddings=len(tensors["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(tensors["embeddings.token_type_embeddings.weight"]),
        pad_token_id=_PADDING,
        layer_norm_eps=1e-5,
    )
    with torch.device("meta"):  # random weights would take seconds, and random numbers from the caller
        model = transformers.RobertaModel(config, add_pooling_layer=False)
    model.load_state_dict(tensors, assign=True)
    positions = torch.arange(config.max_position_embeddings).unsqueeze(0)
    model.embeddings.position_ids = positions  # buffers that no checkpoint holds
    model.embeddings.token_type_ids = torch.zeros_like(positions)
    return model.requires_grad_(False).eval()


def _numbers(name: str, tensor: Any) -> Tensor:
    """Return a tensor in float32, unless it holds NaN or infinity."""
    numbers: Tensor = tensor.float().contiguous()
    # A sum is fifteen times faster than to ask each value. It may overflow where all of them are finite.
    if not numbers.sum().isfinite() and not numbers.isfinite().all():
        raise ValueError(f"{name} holds NaN or infinite numbers: the file is damaged, or the training failed")
    return numbers
