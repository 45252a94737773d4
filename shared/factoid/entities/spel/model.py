"""A SpEL model whole: its files and its tokenizer, loaded onto a device or converted."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.devices import usable_device
from factoid.entities.spel.checkpoint import MANIFEST, TOKENIZER_FILE, read_checkpoint, read_folder, write_folder
from factoid.entities.spel.predict import Predictor
from factoid.entities.spel.vocabulary import Vocabulary, VocabularyFiles
from factoid.errors import InvalidInputError, UnreadableFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

AnyPath = str | PathLike[str]
_HUB_NAMES = ("roberta-base", "roberta-large", "FacebookAI/roberta-base", "FacebookAI/roberta-large")  # the same two
_SPECIAL = {"<s>": 0, "<pad>": 1, "</s>": 2}  # where RoBERTa has them


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A checkpoint, its vocabulary and its tokenizer; or one folder that holds all, converted or not."""

    model: Path
    vocabulary: VocabularyFiles | AnyPath | None = None
    tokenizer: AnyPath | None = None

    def read(self) -> tuple[Any, Tensor, Vocabulary, Tokenizer]:
        """Return encoder, output embedding, vocabulary and tokenizer, and check that they belong together."""
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
            raise InvalidInputError(
                f"the tokenizer has {tokens:,} tokens, but the checkpoint knows {known:,}: expected the "
                "tokenizer of roberta-base, or roberta-large"
            )
        return encoder, out, vocabulary, tokenizer


def _find_checkpoint(folder: Path) -> Path:
    checkpoints = sorted(folder.glob("*.pt"))
    if len(checkpoints) != 1:
        raise UnreadableFileError(
            f"{folder} is no SpEL model: expected a folder that factoid convert-spel wrote, or one with a single .pt "
            f"checkpoint (found: {', '.join(path.name for path in checkpoints) or 'none'}), the vocabulary files and the "
            "tokenizer's. For files in several places use SpELLinker.from_checkpoint"
        )
    return checkpoints[0]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that is ready to predict."""

    predictor: Predictor
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    limit: int  # the most tokens that it reads, <s> and </s> included


def load_model(files: ModelFiles, *, top_k: int, device: Any, batch_size: int) -> LoadedModel:
    """Load a model onto a device; None for a GPU where PyTorch sees one."""
    usable = usable_device(device, extra="spel")
    encoder, out, vocabulary, tokenizer = files.read()
    predictor = Predictor(encoder.to(usable), out.to(usable), k=top_k, batch_size=batch_size)
    limit = encoder.config.max_position_embeddings - encoder.config.pad_token_id - 1
    return LoadedModel(predictor, vocabulary, tokenizer, limit)


def convert_spel(
    checkpoint: AnyPath, vocabulary: VocabularyFiles | AnyPath, folder: AnyPath, *, tokenizer: AnyPath
) -> Path:
    """Write a published checkpoint, its vocabulary and its tokenizer as one folder that `SpELLinker` loads; return the folder.

    The folder holds safetensors and JSON, and the checksum of each file, without what inference does not need.

    Args:
        checkpoint: A .pt file.
        vocabulary: Its vocabulary files, or a folder that holds them.
        folder: The new folder.
        tokenizer: A tokenizer.json, a folder that holds it or vocab.json and merges.txt, or the name "roberta-base" or
            "roberta-large", after the checkpoint, which is downloaded from the Hugging Face hub.

    Raises:
        UnreadableFileError: A file is missing or damaged, or the folder cannot be written.
        InvalidInputError: Vocabulary or tokenizer do not belong to the checkpoint, or the folder is there already.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError(f"{target} is there already: name a new folder, or remove this one")
    write_folder(target, *ModelFiles(Path(checkpoint), vocabulary, tokenizer).read())
    return target


def load_tokenizer(source: AnyPath) -> Tokenizer:
    """Return a tokenizer, as `convert_spel` takes it, that puts <s> and </s> around a text and cuts nothing off.

    Raises:
        UnreadableFileError: There is no tokenizer, or it is none of RoBERTa.
    """
    library, transformers = require("tokenizers", extra="spel"), require("transformers", extra="spel")
    path = Path(source)
    file = path / TOKENIZER_FILE if path.is_dir() else path
    try:
        if file.is_file():
            tokenizer = library.Tokenizer.from_file(str(file))
        elif (path / "vocab.json").is_file() and (path / "merges.txt").is_file():
            tokenizer = transformers.RobertaTokenizerFast.from_pretrained(path).backend_tokenizer
        elif source in _HUB_NAMES and not path.exists():
            tokenizer = library.Tokenizer.from_pretrained(source)
        else:
            raise FileNotFoundError("there is no such file")
    except Exception as error:  # the library raises no other kind
        raise UnreadableFileError(
            f"cannot load the tokenizer {str(source)!r}: {str(error).partition(chr(10))[0]}. Expected a tokenizer.json, a "
            f"folder with one or with vocab.json and merges.txt, or a name on the Hugging Face hub: {', '.join(_HUB_NAMES)}"
        ) from error
    special = {token: tokenizer.token_to_id(token) for token in _SPECIAL}
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if special != _SPECIAL or tokenizer.encode("").ids != [0, 2]:
        raise UnreadableFileError(
            f"{str(source)!r} is no tokenizer of RoBERTa: expected the tokens {_SPECIAL}, of which <s> and </s> are put around "
            f"a text, got {special}"
        )
    return tokenizer  # type: ignore[no-any-return]
