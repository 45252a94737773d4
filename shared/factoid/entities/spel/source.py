"""Where a SpEL model comes from, and the loaded whole."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid.devices import usable_device
from factoid.entities.spel.checkpoint import read_checkpoint
from factoid.entities.spel.folder import MANIFEST, check_free, read_folder, write_folder
from factoid.entities.spel.predict import Predictor
from factoid.entities.spel.tokenizer import load_tokenizer
from factoid.entities.spel.vocabulary import Vocabulary, VocabularyFiles
from factoid.entities.spel.weights import Weights
from factoid.errors import InvalidInputError, UnreadableFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Path_ = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model.

    Attributes:
        model: A folder that `convert_spel` wrote; or a published checkpoint, a .pt file.
        vocabulary: The checkpoint's vocabulary files, or a folder that holds them; None for a converted folder.
        tokenizer: The checkpoint's tokenizer, see `load_tokenizer`; None for a converted folder.
    """

    model: Path
    vocabulary: VocabularyFiles | Path | None = None
    tokenizer: Path_ | None = None

    @classmethod
    def in_folder(cls, folder: Path) -> ModelFiles:
        """Return the files of a folder: a converted one, or one of a checkpoint, its vocabulary and its tokenizer.

        Raises:
            UnreadableFileError: It is neither, or has several checkpoints.
        """
        if (folder / MANIFEST).exists():
            return cls(folder)
        checkpoints = sorted(folder.glob("*.pt")) if folder.is_dir() else []
        if len(checkpoints) != 1:
            found = ", ".join(path.name for path in checkpoints) or ("none" if folder.is_dir() else "no such folder")
            message = (
                f"{folder} is no SpEL model: expected a folder that factoid convert-spel wrote, or one with a single .pt "
                f"checkpoint (found: {found}), the vocabulary files and the tokenizer's. For files in several places use "
                "SpELLinker.from_checkpoint"
            )
            raise UnreadableFileError(message)
        return cls(checkpoints[0], folder, folder)

    def read(self) -> tuple[Weights, Vocabulary, Tokenizer]:
        """Read all that the model needs, and check that it belongs together.

        Raises:
            UnreadableFileError: A file is missing or damaged.
            StoreFormatError: A converted folder was changed.
            InvalidInputError: Vocabulary or tokenizer do not belong to the checkpoint.
        """
        if self.vocabulary is None or self.tokenizer is None:
            weights, vocabulary = read_folder(self.model)
            tokenizer = load_tokenizer(self.model)
        else:
            files = self.vocabulary
            if not isinstance(files, VocabularyFiles):
                files = VocabularyFiles.in_folder(files)
            tokenizer = load_tokenizer(self.tokenizer)  # the cheapest to find missing goes first
            weights = read_checkpoint(self.model)
            vocabulary = files.read(len(weights.out))
        if tokenizer.get_vocab_size() > weights.sizes.vocab_size:
            message = (
                f"the tokenizer has {tokenizer.get_vocab_size():,} tokens, but the checkpoint knows "
                f"{weights.sizes.vocab_size:,}: expected the tokenizer of roberta-base, or roberta-large"
            )
            raise InvalidInputError(message)
        return weights, vocabulary, tokenizer


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that is ready to predict.

    Attributes:
        predictor: Its tensors, on a device.
        vocabulary: What their rows stand for.
        tokenizer: Of its inputs.
        limit: The most tokens that it reads.
    """

    predictor: Predictor
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    limit: int


def load_model(files: ModelFiles, *, top_k: int, device: Any, batch_size: int) -> LoadedModel:
    """Load a model onto a device; None for a GPU where PyTorch sees one.

    Raises:
        UnreadableFileError, StoreFormatError: See `ModelFiles.read`.
        InvalidInputError: Likewise; or PyTorch cannot use the device.
        MissingDependencyError: A package that the model needs is not installed.
    """
    usable = usable_device(device, extra="spel")
    weights, vocabulary, tokenizer = files.read()
    encoder = weights.build(usable)
    predictor = Predictor(encoder, weights.out.to(usable), k=top_k, batch_size=batch_size)
    return LoadedModel(predictor, vocabulary, tokenizer, weights.sizes.limit)


def convert_spel(checkpoint: Path_, vocabulary: VocabularyFiles | Path_, folder: Path_, *, tokenizer: Path_) -> Path:
    """Write a published checkpoint, its vocabulary and its tokenizer as one folder that `SpELLinker` loads.

    The folder holds safetensors and JSON, and the checksum of each file. What inference does not need, the head of the
    language model, is left out.

    Args:
        checkpoint: A .pt file.
        vocabulary: Its vocabulary files, or a folder that holds them.
        folder: The new folder.
        tokenizer: A tokenizer.json, a folder that holds it or vocab.json and merges.txt, or a name on the Hugging Face hub,
            which is downloaded: "roberta-base" or "roberta-large", after the checkpoint.

    Returns:
        The folder.

    Raises:
        UnreadableFileError: A file is missing or damaged, or the folder cannot be written.
        InvalidInputError: Vocabulary or tokenizer do not belong to the checkpoint, or the folder is there already.
        MissingDependencyError: A package that the model needs is not installed.
    """
    target = Path(folder)
    check_free(target)
    if not isinstance(vocabulary, VocabularyFiles):
        vocabulary = Path(vocabulary)
    weights, entries, loaded = ModelFiles(Path(checkpoint), vocabulary, tokenizer).read()
    weights.build("meta")  # refuses what could not be loaded
    write_folder(target, weights, entries, loaded)
    return target
