"""A SpEL model: the published .pt with its vocabulary and tokenizer, or the folder of safetensors and JSON made of them."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.devices import usable_device
from factoid.entities.spel.predict import Predictor
from factoid.entities.spel.vocabulary import VocabularyFiles
from factoid.errors import InvalidInputError, StoreFormatError, UnreadableFileError
from factoid.files.atomic import part_beside, sync_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

AnyPath = str | PathLike[str]
_HUB_NAMES = ("roberta-base", "roberta-large", "FacebookAI/roberta-base", "FacebookAI/roberta-large")  # the same two
_SPECIAL = {"<s>": 0, "<pad>": 1, "</s>": 2}  # where RoBERTa has them
_IDENTITY = {"format": "factoid-spel", "version": 1}
_MANIFEST, _WEIGHTS = "factoid-spel.json", "model.safetensors"
_VOCABULARY, _TOKENIZER = "vocabulary.json", "tokenizer.json"
_FILES = (_VOCABULARY, _WEIGHTS, _TOKENIZER)
_OUT, _ENCODER = "out.weight", "encoder."  # names of tensors in the folder
_FOREIGN = (LookupError, TypeError, ValueError, AttributeError, RuntimeError)
_HEAD_SIZE = 64  # dimensions of an attention head, in every RoBERTa
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
_UNUSED = re.compile(r"embeddings\.(position_ids|token_type_ids)|pooler\..*")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to predict."""

    predictor: Predictor
    vocabulary: list[str]  # the entity of each row of the output embedding
    tokenizer: Tokenizer
    limit: int  # the most tokens of a text, <s> and </s> included


def load_model(files: Sequence[Any], *, top_k: int, device: Any, batch_size: int) -> LoadedModel:
    """Load a folder, or a checkpoint, its vocabulary and its tokenizer, onto a device; None for a GPU if there is one."""
    usable = usable_device(device, extra="spel")
    encoder, out, vocabulary, tokenizer = _read_model(*files)
    predictor = Predictor(encoder.to(usable), out.to(usable), k=top_k, batch_size=batch_size)
    limit = encoder.config.max_position_embeddings - encoder.config.pad_token_id - 1
    return LoadedModel(predictor, vocabulary, tokenizer, limit)


def _read_model(
    model: Path, vocabulary: VocabularyFiles | AnyPath | None = None, tokenizer: AnyPath | None = None
) -> tuple[Any, Tensor, list[str], Tokenizer]:
    """Return encoder, output embedding, vocabulary and tokenizer, and check that they belong together."""
    if (model / _MANIFEST).exists():
        encoder, out, entities = _read_folder(model)
        loaded = load_tokenizer(model)
    else:
        checkpoints = [model] if vocabulary else sorted(model.glob("*.pt"))
        if len(checkpoints) != 1:
            names = ", ".join(path.name for path in checkpoints) or "none"
            raise UnreadableFileError(
                f"{model} is not a SpEL model: expected a folder that factoid convert-spel wrote, or one with a single .pt "
                f"checkpoint (found: {names}), the vocabulary files and the tokenizer's. For files in several places use "
                "SpELLinker.from_checkpoint"
            )
        loaded = load_tokenizer(tokenizer or model)  # first, since it is the cheapest to find missing
        files = vocabulary or model
        files = files if isinstance(files, VocabularyFiles) else VocabularyFiles.in_folder(files)
        encoder, out = read_checkpoint(checkpoints[0])
        entities = files.read(len(out))
    if (tokens := loaded.get_vocab_size()) > (known := encoder.config.vocab_size):
        raise InvalidInputError(
            f"the tokenizer has {tokens:,} tokens, but the checkpoint knows {known:,}: expected the tokenizer of "
            "roberta-base, or roberta-large"
        )
    return encoder, out, entities, loaded


def convert_spel(
    checkpoint: AnyPath, vocabulary: VocabularyFiles | AnyPath, folder: AnyPath, *, tokenizer: AnyPath
) -> Path:
    """Write a published checkpoint, its vocabulary and its tokenizer as one folder that `SpELLinker` loads; return the folder.

    It holds safetensors, JSON and a checksum of each file, and appears whole or not at all.

    Args:
        checkpoint: A .pt file.
        vocabulary: Its vocabulary files, or a folder that holds them.
        folder: The new folder.
        tokenizer: A tokenizer.json, a folder that holds it or vocab.json and merges.txt, or a name to download from the Hugging
            Face hub, "roberta-base" or "roberta-large" as the checkpoint needs.

    Raises:
        UnreadableFileError: A file is missing or damaged, or the folder cannot be written.
        InvalidInputError: Vocabulary or tokenizer do not belong to the checkpoint, or the folder exists already.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError(f"{target} is there already: name a new folder, or remove this one")
    encoder, out, entities, loaded_tokenizer = _read_model(Path(checkpoint), vocabulary, tokenizer)
    save = require("safetensors.torch", extra="spel").save_file
    tensors = {_OUT: out, **{_ENCODER + name: tensor for name, tensor in encoder.state_dict().items()}}
    try:
        with part_beside(target, folder=True) as part:
            _write_json(part / _VOCABULARY, entities)
            loaded_tokenizer.save(str(part / _TOKENIZER))
            save(tensors, str(part / _WEIGHTS))
            (part / _WEIGHTS).chmod((part / _VOCABULARY).stat().st_mode)  # otherwise only its owner can read it
            _write_json(part / _MANIFEST, {**_IDENTITY, "files": {name: _state(part / name) for name in _FILES}})
            for name in (*_FILES, _MANIFEST):
                sync_file(part / name)
            part.rename(target)  # replaces an empty folder, and no other
    except OSError as error:
        raise UnreadableFileError(f"cannot write the model to {target}: {error.strerror or error}") from error
    return target


def load_tokenizer(source: AnyPath) -> Tokenizer:
    """Return a tokenizer from a source as for `convert_spel`; it puts <s> and </s> around a text and does not truncate."""
    library, transformers = require("tokenizers", extra="spel"), require("transformers", extra="spel")
    path = Path(source)
    file = path / _TOKENIZER if path.is_dir() else path
    try:
        if file.is_file():
            tokenizer = library.Tokenizer.from_file(str(file))
        elif (path / "vocab.json").is_file() and (path / "merges.txt").is_file():
            tokenizer = transformers.RobertaTokenizerFast.from_pretrained(path).backend_tokenizer
        elif source in _HUB_NAMES and not path.exists():
            tokenizer = library.Tokenizer.from_pretrained(source)
        else:
            raise FileNotFoundError("there is no such file")
    except Exception as error:  # the library raises plain Exceptions
        raise UnreadableFileError(
            f"cannot load the tokenizer {str(source)!r}: {str(error).partition(chr(10))[0]}. Expected a tokenizer.json, a "
            f"folder with one or with vocab.json and merges.txt, or a name on the Hugging Face hub: {', '.join(_HUB_NAMES)}"
        ) from error
    special = {token: tokenizer.token_to_id(token) for token in _SPECIAL}
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if special != _SPECIAL or tokenizer.encode("").ids != [0, 2]:
        raise UnreadableFileError(
            f"{str(source)!r} is not a tokenizer of RoBERTa: expected the tokens {_SPECIAL}, with <s> and </s> put around a "
            f"text, got {special}"
        )
    return tokenizer  # type: ignore[no-any-return]


def read_checkpoint(path: Path) -> tuple[Any, Tensor]:
    """Return the encoder and the output embedding of a checkpoint in the published format.

    The format is a dict with `bert_lm`, the state dict of a `RobertaForMaskedLM`, and `out`, the state dict of an `Embedding`
    with a row for each entity. All parts of the file are compared with their checksums.
    """
    torch = require("torch", extra="spel")
    if not path.is_file():
        raise UnreadableFileError(f"there is no checkpoint {path}: expected a file such as spel-base-step-3-500K.pt")
    try:
        with zipfile.ZipFile(path) as parts:
            if changed := parts.testzip():  # PyTorch does not compare checksums
                raise zipfile.BadZipFile(f"{changed} has changed since it was written")
        # With mmap the language model's head takes no memory.
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # PyTorch lets through whatever its readers raise
        # PyTorch advises loading the file anyway, which would run its code.
        advice = "weights_only" in str(error)
        reason = "it holds more than tensors and plain values" if advice else str(error).partition("\n")[0][:200]
        raise UnreadableFileError(
            f"cannot read the checkpoint {path}: {reason}. Expected a whole .pt file of tensors and plain values; one that is "
            "damaged, or holds code, is refused. Get the file again"
        ) from error
    try:
        encoder = _make_encoder(content["bert_lm"], "roberta.")
        out = content["out"]["weight"].float().contiguous()
        if out.ndim != 2 or out.shape[1] != encoder.config.hidden_size:
            raise ValueError(f"out is of shape {tuple(out.shape)}, expected (entities, {encoder.config.hidden_size})")
    except _FOREIGN as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise UnreadableFileError(
            f"{path} is not a SpEL checkpoint, a dict with bert_lm, of a RoBERTa, and out: {reason}"
        ) from error
    return encoder, out


def _read_folder(folder: Path) -> tuple[Any, Tensor, list[str]]:
    """Return the encoder, the output embedding and the vocabulary of a folder that `convert_spel` wrote."""
    again = "Convert the checkpoint again with factoid convert-spel"
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        files = manifest.pop("files")
        states = {name: files[name] for name in _FILES}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreFormatError(f"{folder / _MANIFEST} is damaged: {error}. {again}") from error
    if manifest != _IDENTITY:
        raise StoreFormatError(f"{folder} is of the format {manifest}: expected {_IDENTITY}")
    for name, state in states.items():
        path = folder / name
        if not path.is_file() or _state(path) != state:
            fault = "has changed since it was written" if path.is_file() else "is missing"
            raise StoreFormatError(f"{path} {fault}. {again}")
    vocabulary = json.loads((folder / _VOCABULARY).read_text(encoding="utf-8"))
    tensors = require("safetensors.torch", extra="spel").load_file(str(folder / _WEIGHTS))
    return _make_encoder(tensors, _ENCODER), tensors[_OUT], vocabulary


def _state(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _make_encoder(state: Mapping[str, Any], prefix: str) -> Any:
    """Return a `RobertaModel` of the tensors with a prefix; its sizes are those of the tensors."""
    torch, transformers = require("torch", extra="spel"), require("transformers", extra="spel")
    named = ((name.removeprefix(prefix), tensor) for name, tensor in state.items() if name.startswith(prefix))
    tensors = {name: tensor.float().contiguous() for name, tensor in named if not _UNUSED.fullmatch(name)}
    words, hidden = tensors["embeddings.word_embeddings.weight"].shape
    config = transformers.RobertaConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=len({match[1] for name in tensors if (match := _LAYER.match(name))}),
        num_attention_heads=hidden // _HEAD_SIZE,
        intermediate_size=len(tensors["encoder.layer.0.intermediate.dense.weight"]),
        max_position_embeddings=len(tensors["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(tensors["embeddings.token_type_embeddings.weight"]),
        pad_token_id=_SPECIAL["<pad>"],
        layer_norm_eps=1e-5,
    )
    with torch.device("meta"):  # random weights would take seconds, and advance the caller's random numbers
        model = transformers.RobertaModel(config, add_pooling_layer=False)
    model.load_state_dict(tensors, assign=True)
    positions = torch.arange(config.max_position_embeddings).unsqueeze(0)
    model.embeddings.position_ids = positions  # this buffer and the next are not in checkpoints
    model.embeddings.token_type_ids = torch.zeros_like(positions)
    return model.requires_grad_(False).eval()
