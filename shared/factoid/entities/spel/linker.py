"""SpEL as an entity linker: questions in one pass, documents in windows."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from factoid.entities.mention import Candidate, Mention
from factoid.entities.spel.aggregation import PLAIN_CHARACTERS, find_phrases, join_abbreviations, split_words
from factoid.entities.spel.model import LoadedModel, load_model
from factoid.entities.spel.predict import merge_windows, windows
from factoid.entities.spel.vocabulary import VocabularyFiles, entity_title
from factoid.errors import InvalidInputError
from factoid.units import check_text, whole_number

if TYPE_CHECKING:
    import torch

    from factoid.entities.spel.aggregation import Span
    from factoid.entities.spel.predict import Prediction

_BATCH = 1024  # texts with predictions in memory at a time


class SpELLinker:
    """Links entities with a SpEL model (Shavarani and Sarkar, 2023), the linker of the Entity Retrieval paper.

    Files are read on first use, and nothing is downloaded. Threads may share a linker; it serves one at a time.

    Args:
        model: A folder that `convert_spel` or `factoid convert-spel` wrote; or one that holds a published .pt checkpoint,
            the vocabulary files under their published names, and tokenizer.json, or vocab.json and merges.txt. See also
            `from_checkpoint`.
        top_k: The number of entities to consider for each subword: 10 as in the Entity Retrieval paper, 1 as in SpEL's own
            evaluation.
        device: The device for PyTorch, for example "cuda"; None for a GPU if there is one, else the CPU.
        batch_size: The number of questions, or windows of documents, in one forward pass.

    Raises:
        InvalidInputError: `top_k` or `batch_size` is below 1; on first use, vocabulary or tokenizer do not belong to the
            checkpoint, or PyTorch cannot use the device.
        UnreadableFileError, StoreFormatError: On first use: a file is missing or damaged, or a converted one was changed.
    """

    def __init__(
        self,
        model: str | PathLike[str],
        *,
        top_k: int = 10,
        device: str | torch.device | None = None,
        batch_size: int = 16,
    ) -> None:
        self.top_k, self.batch_size = whole_number("top_k", top_k), whole_number("batch_size", batch_size)
        self.device = device
        self._files: tuple[Any, ...] = (Path(model),)
        self._loaded: LoadedModel | None = None
        self._lock = Lock()

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: str | PathLike[str],
        vocabulary: VocabularyFiles | str | PathLike[str],
        *,
        tokenizer: str | PathLike[str],
        **options: Any,
    ) -> SpELLinker:
        """Return a linker for a published checkpoint with files in several places; arguments are those of `convert_spel`.

        Options are those of the class. A tokenizer on the hub is downloaded on first use.
        """
        linker = cls(checkpoint, **options)
        linker._files = Path(checkpoint), vocabulary, tokenizer
        return linker

    def link(self, text: str) -> list[Mention]:
        """Return the mentions in a text, in order.

        A text of up to 512 tokens, such as any question, is read in one pass, as in Entity Retrieval; longer ones are linked by
        `link_document`.
        """
        return self.link_batch([text])[0]

    def link_batch(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions in each text, the same as `link` but faster."""
        if isinstance(texts, str):
            raise InvalidInputError(f"expected a list of texts, got the string {texts[:50]!r}: use link for one text")
        for text in texts:
            check_text(text)
        model = self._load()
        batches = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
        return [mentions for batch in batches for mentions in self._link_texts(model, batch)]

    def _link_texts(self, model: LoadedModel, texts: Sequence[str]) -> list[list[Mention]]:
        encodings = [model.tokenizer.encode(text) for text in texts]
        short = [encoding.ids for encoding in encodings if len(encoding.ids) <= model.limit]
        predicted = iter(self._predict(model, short))
        return [
            _mentions(model.vocabulary, text, split_words(text), encoding.offsets, next(predicted))
            if len(encoding.ids) <= model.limit
            else self.link_document(text)
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def link_document(self, text: str) -> list[Mention]:
        """Return the mentions in a text of any length, in order, as SpEL does for documents.

        Some typographic characters are read as plain ones, abbreviations keep their full stop, and windows of 254 tokens move
        over the text in steps of 234.
        """
        check_text(text)
        plain = text.rstrip().translate(PLAIN_CHARACTERS)
        words = join_abbreviations(plain, split_words(plain))
        if not words:
            return []
        model = self._load()
        encoding = model.tokenizer.encode(plain)
        parts = self._predict(model, [encoding.ids[part.start : part.stop] for part in windows(len(encoding.ids))])
        return _mentions(model.vocabulary, plain, words, encoding.offsets, merge_windows(parts))

    def _predict(self, model: LoadedModel, sequences: Sequence[Sequence[int]]) -> list[list[Prediction]]:
        with self._lock:  # one at a time: several would compete for the same cores or memory
            return model.predictor.predict(sequences)

    def _load(self) -> LoadedModel:
        with self._lock:
            if self._loaded is None:
                self._loaded = load_model(self._files, top_k=self.top_k, device=self.device, batch_size=self.batch_size)
            return self._loaded


def _mentions(
    vocabulary: Sequence[str], text: str, words: list[Span], offsets: list[Span], predictions: list[Prediction]
) -> list[Mention]:
    """Return the mentions by the predictions for a text's tokens, <s> and </s> included."""
    mentions = []
    for phrase in find_phrases(text, words, offsets[1:-1], predictions[1:-1]):
        if phrase.start < phrase.end and entity_title(vocabulary, phrase.entity):
            scores: dict[str, float] = {}
            for entity, score in phrase.candidates.items():
                if title := entity_title(vocabulary, entity):
                    scores.setdefault(title, min(score, 1.0))
            candidates = tuple(Candidate(title, score) for title, score in scores.items())
            mentions.append(Mention(phrase.start, phrase.end, candidates[0].title, candidates[0].score, candidates))
    return mentions
