"""SpEL as an entity linker: questions in one pass, documents in windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from factoid.entities.mention import Candidate, Mention
from factoid.entities.spel.candidates import CandidateSets, choose_candidate
from factoid.entities.spel.characters import plain_characters
from factoid.entities.spel.moses import join_abbreviations
from factoid.entities.spel.phrases import Phrase, find_phrases
from factoid.entities.spel.source import LoadedModel, ModelFiles, load_model
from factoid.entities.spel.tidy import canonical
from factoid.entities.spel.vocabulary import Vocabulary, VocabularyFiles, title_of
from factoid.entities.spel.windows import merge_windows, windows
from factoid.entities.spel.words import split_words
from factoid.errors import InvalidInputError
from factoid.units import check_text

if TYPE_CHECKING:
    import torch

    from factoid.entities.spel.resolve import Prediction
    from factoid.entities.spel.words import Span

_AT_ONCE = 1024  # texts whose predictions are held at a time


class SpELLinker:
    """Links entities with a SpEL model (Shavarani and Sarkar, 2023), the linker of the Entity Retrieval paper.

    Nothing is read before the first text, and nothing is downloaded. Threads may share a linker; it serves one at a time.

    Args:
        model: A folder that `convert_spel` or `factoid convert-spel` wrote; or one that holds a published .pt checkpoint,
            the vocabulary files under their published names, and tokenizer.json, or vocab.json and merges.txt. See also
            `from_checkpoint`.
        top_k: Entities of each subword that are considered: 10 as in the Entity Retrieval paper, 1 as in SpEL's own
            evaluation.
        device: Where PyTorch computes, for example "cuda"; None for a GPU where there is one, else the CPU.
        batch_size: Questions, or windows of documents, in one forward pass.
        candidates: Candidate sets that mentions are restricted to, see `read_candidates`.
        titles: Canonical titles by titles, as SpEL's aida_canonical_redirects.json holds them; others stay as they are.

    Raises:
        InvalidInputError: `top_k` or `batch_size` is below 1; on first use, vocabulary or tokenizer do not belong to the
            checkpoint, or PyTorch cannot use the device.
        UnreadableFileError: On first use: a file is missing or damaged.
        StoreFormatError: On first use: a converted folder was changed.
        MissingDependencyError: On first use: a package is not installed.
    """

    def __init__(
        self,
        model: str | PathLike[str],
        *,
        top_k: int = 10,
        device: str | torch.device | None = None,
        batch_size: int = 16,
        candidates: CandidateSets | None = None,
        titles: Mapping[str, str] | None = None,
    ) -> None:
        if top_k < 1 or batch_size < 1:
            message = f"expected top_k >= 1 and batch_size >= 1, got top_k={top_k}, batch_size={batch_size}"
            raise InvalidInputError(message)
        self.model = Path(model)
        self.top_k = top_k
        self.device = device
        self.batch_size = batch_size
        self.candidates = candidates
        self.titles = titles or {}
        self._files: ModelFiles | None = None
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
        """Return a linker of a published checkpoint whose files lie in several places.

        Args:
            checkpoint: A .pt file.
            vocabulary: Its vocabulary files, or a folder that holds them.
            tokenizer: A tokenizer.json, a folder that holds one or vocab.json and merges.txt, or a name on the Hugging Face
                hub, which is downloaded on first use: "roberta-base" or "roberta-large", after the checkpoint.
            options: As of the class.

        Raises:
            InvalidInputError: See the class.
        """
        linker = cls(checkpoint, **options)
        files = vocabulary if isinstance(vocabulary, VocabularyFiles) else Path(vocabulary)
        linker._files = ModelFiles(Path(checkpoint), files, tokenizer)
        return linker

    def link(self, text: str) -> list[Mention]:
        """Return the mentions in a text, in order.

        A text of up to 512 tokens, as all questions are, is read in one pass, as Entity Retrieval does; a longer one as by
        `link_document`.

        Raises:
            InvalidInputError: The text is no string, or holds lone surrogates.
        """
        return self.link_batch([text])[0]

    def link_batch(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions in each text; the same as `link` gives, for less.

        Raises:
            InvalidInputError: As `link`, or the texts are one string.
        """
        if isinstance(texts, str):
            message = f"expected a list of texts, got the string {texts[:50]!r}: use link for one text"
            raise InvalidInputError(message)
        for text in texts:
            check_text(text)
        model = self._load()
        parts = (texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE))
        return [mentions for part in parts for mentions in self._link_part(model, part)]

    def _link_part(self, model: LoadedModel, texts: Sequence[str]) -> list[list[Mention]]:
        mentions: list[list[Mention]] = [[] for _ in texts]
        asked: list[int] = []
        words, encodings = {}, {}
        for at, text in enumerate(texts):
            words[at] = split_words(text)
            if not words[at]:
                continue
            encodings[at] = model.tokenizer.encode(text)
            if len(encodings[at].ids) <= model.limit:
                asked.append(at)
            else:
                mentions[at] = self._link_windows(model, text)
        for at, predictions in zip(asked, self._predict(model, [encodings[at].ids for at in asked]), strict=True):
            mentions[at] = self._mentions(model, texts[at], words[at], encodings[at].offsets, predictions)
        return mentions

    def link_document(self, text: str) -> list[Mention]:
        """Return the mentions in a text of any length, in order, as SpEL does for documents.

        Typographic characters are read as plain ones, abbreviations keep their full stop, and windows of 254 tokens go over
        the text in steps of 234. Spans are of the text as given.

        Raises:
            InvalidInputError: The text is no string, or holds lone surrogates.
            MissingDependencyError: The package sacremoses is not installed.
        """
        check_text(text)
        return self._link_windows(self._load(), text)

    def _link_windows(self, model: LoadedModel, text: str) -> list[Mention]:
        plain = plain_characters(text.rstrip())
        words = join_abbreviations(plain, split_words(plain))
        if not words:
            return []
        encoding = model.tokenizer.encode(plain)
        ids = encoding.ids
        parts = self._predict(model, [ids[part.start : part.stop] for part in windows(len(ids))])
        return self._mentions(model, plain, words, encoding.offsets, merge_windows(parts))

    def _predict(self, model: LoadedModel, sequences: Sequence[Sequence[int]]) -> list[list[Prediction]]:
        with self._lock:  # one at a time: several would compete for the same cores or memory
            return model.predictor.predict(sequences)

    def _mentions(
        self,
        model: LoadedModel,
        text: str,
        words: Sequence[Span],
        offsets: Sequence[Span],
        predictions: Sequence[Prediction],
    ) -> list[Mention]:
        """Return what the predictions of a text's tokens, <s> and </s> included, say."""
        phrases = find_phrases(text, words, offsets[1:-1], predictions[1:-1])
        if self.candidates is not None:
            phrases = [choose_candidate(phrase, text, self.candidates, model.vocabulary) for phrase in phrases]
        return [
            self._mention(phrase, model.vocabulary)
            for phrase in phrases
            if model.vocabulary.names_entity(phrase.entity) and phrase.start < phrase.end
        ]

    def _mention(self, phrase: Phrase, vocabulary: Vocabulary) -> Mention:
        scores: dict[str, float] = {}
        for entity, score in [(phrase.entity, phrase.score), *phrase.candidates()]:
            if vocabulary.names_entity(entity):
                scores.setdefault(self._title(vocabulary.entries[entity]), min(score, 1.0))
        candidates = (Candidate(title, score) for title, score in scores.items())
        return Mention(
            phrase.start,
            phrase.end,
            self._title(vocabulary.entries[phrase.entity]),
            min(phrase.score, 1.0),
            tuple(sorted(candidates, key=lambda candidate: -candidate.score)),
        )

    def _title(self, entry: str) -> str:
        title = title_of(entry)
        return title_of(self.titles[entry]) if entry in self.titles else canonical(title, self.titles) or title

    def _load(self) -> LoadedModel:
        with self._lock:
            if self._loaded is None:
                files = self._files or ModelFiles.in_folder(self.model)
                self._loaded = load_model(files, top_k=self.top_k, device=self.device, batch_size=self.batch_size)
            return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock and the model, so that worker processes can be handed the object."""
        return {**self.__dict__, "_loaded": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())
