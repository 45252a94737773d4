"""A SpEL model whole: its files and its tokenizer, loaded onto a device or converted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.devices import usable_device
from factoid.entities.spel.checkpoint import (
    MANIFEST,
    TOKENIZER_FILE,
    limit,
    read_checkpoint,
    read_folder,
    write_folder,
)
from factoid.entities.spel.predict import Predictor
from factoid.entities.spel.vocabulary import Vocabulary, VocabularyFiles
from factoid.errors import InvalidInputError, UnreadableFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

Path_ = str | PathLike[str]
_KNOWN = ("roberta-base", "roberta-large", "FacebookAI/roberta-base", "FacebookAI/roberta-large")  # the same two
_HUB_NAME = re.compile(r"([\w-][\w.-]*)/[\w-][\w.-]*")
_SPECIAL = {"<s>": 0, "<pad>": 1, "</s>": 2}  # where RoBERTa has them


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model: a checkpoint, its vocabulary and its tokenizer, or one folder that holds all, converted or not."""

    model: Path
    vocabulary: VocabularyFiles | Path_ | None = None
    tokenizer: Path_ | None = None

    def read(self) -> tuple[Any, Tensor, Vocabulary, Tokenizer]:
        """Read all that the model needs, and check that it belongs together."""
        if (self.model / MANIFEST).exists():
            encoder, out, vocabulary = read_folder(self.model)
            tokenizer = load_tokenizer(self.model)
        else:
            checkpoint = self.model if self.vocabulary else _find_checkpoint(self.model)
            tokenizer = load_tokenizer(self.tokenizer or self.model)  # the cheapest to find missing goes first
            files = self.vocabulary or self.model
            files = files if isinstance(files, VocabularyFiles) else VocabularyFiles.in_folder(files)
            encoder, out = read_checkpoint(checkpoint)
            vocabulary = files.read(len(out))
        if (tokens := tokenizer.get_vocab_size()) > (known := encoder.config.vocab_size):
            message = (
                f"the tokenizer has {tokens:,} tokens, but the checkpoint knows {known:,}: expected the "
                "tokenizer of roberta-base, or roberta-large"
            )
            raise InvalidInputError(message)
        return encoder, out, vocabulary, tokenizer


def _find_checkpoint(folder: Path) -> Path:
    checkpoints = sorted(folder.glob("*.pt"))
    if len(checkpoints) != 1:
        names = ", ".join(path.name for path in checkpoints) or ("none" if folder.is_dir() else "no such folder")
        message = (
            f"{folder} is no SpEL model: expected a folder that factoid convert-spel wrote, or one with a single .pt "
            f"checkpoint (found: {names}), the vocabulary files and the tokenizer's. For files in several places use "
            "SpELLinker.from_checkpoint"
        )
        raise UnreadableFileError(message)
    return checkpoints[0]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that is ready to predict."""

    predictor: Predictor
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    limit: int  # the most tokens that it reads


def load_model(files: ModelFiles, *, top_k: int, device: Any, batch_size: int) -> LoadedModel:
    """Load a model onto a device; None for a GPU where PyTorch sees one."""
    usable = usable_device(device, extra="spel")
    encoder, out, vocabulary, tokenizer = files.read()
    predictor = Predictor(encoder.to(usable), out.to(usable), k=top_k, batch_size=batch_size)
    return LoadedModel(predictor, vocabulary, tokenizer, limit(encoder))


def convert_spel(checkpoint: Path_, vocabulary: VocabularyFiles | Path_, folder: Path_, *, tokenizer: Path_) -> Path:
    """Write a published checkpoint, its vocabulary and its tokenizer as one folder that `SpELLinker` loads; return the folder.

    The folder holds safetensors and JSON, and the checksum of each file. What inference does not need, the head of the
    language model, is left out.

    Args:
        checkpoint: A .pt file.
        vocabulary: Its vocabulary files, or a folder that holds them.
        folder: The new folder.
        tokenizer: A tokenizer.json, a folder that holds it or vocab.json and merges.txt, or a name on the Hugging Face hub,
            which is downloaded: "roberta-base" or "roberta-large", after the checkpoint.

    Raises:
        UnreadableFileError: A file is missing or damaged, or the folder cannot be written.
        InvalidInputError: Vocabulary or tokenizer do not belong to the checkpoint, or the folder is there already.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        message = f"{target} is there already: name a new folder, or remove this one"
        raise InvalidInputError(message)
    write_folder(target, *ModelFiles(Path(checkpoint), vocabulary, tokenizer).read())
    return target


def load_tokenizer(source: Path_) -> Tokenizer:
    """Return a tokenizer that puts <s> and </s> around a text, cuts nothing off and adds no space before it.

    The source is a tokenizer.json, a folder that holds one or vocab.json and merges.txt, or, as a string that is no path, a
    name on the hub, which is downloaded or taken from the hub's cache: "roberta-base", "roberta-large" or "owner/name".

    Raises:
        UnreadableFileError: There is no tokenizer, or it is none of RoBERTa.
    """
    library, transformers = require("tokenizers", extra="spel"), require("transformers", extra="spel")
    path = Path(source)
    file = path / TOKENIZER_FILE if path.is_dir() else path
    name = _HUB_NAME.fullmatch(str(source))
    is_hub_name = source in _KNOWN or (
        isinstance(source, str) and name and not Path(name[1]).exists()
    )  # no mistyped path
    try:
        if file.is_file():
            tokenizer = library.Tokenizer.from_file(str(file))
        elif (path / "vocab.json").is_file() and (path / "merges.txt").is_file():
            tokenizer = transformers.RobertaTokenizerFast.from_pretrained(path).backend_tokenizer
        elif is_hub_name and not path.exists():
            tokenizer = library.Tokenizer.from_pretrained(source)
        else:
            message = "there is no such file"
            raise FileNotFoundError(message)
    except Exception as error:  # the library raises no other kind
        message = (
            f"cannot load the tokenizer {str(source)!r}: {str(error).partition(chr(10))[0]}. Expected a tokenizer.json, a "
            f"folder with one or with vocab.json and merges.txt, or a name on the Hugging Face hub: {_KNOWN[0]}, {_KNOWN[1]} "
            "or owner/name"
        )
        raise UnreadableFileError(message) from error
    special = {token: tokenizer.token_to_id(token) for token in _SPECIAL}
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if special != _SPECIAL or tokenizer.encode("").ids != [0, 2]:
        message = (
            f"{str(source)!r} is no tokenizer of RoBERTa: expected the tokens {_SPECIAL}, of which <s> and </s> are put around "
            f"a text, got {special}"
        )
        raise UnreadableFileError(message)
    return tokenizer  # type: ignore[no-any-return]
