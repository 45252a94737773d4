"""A corpus at three granularities, as Dense X Retrieval makes it, and what is found in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.evaluate.datasets import DatasetQuestion
from factoid.evaluate.vector_cache import VectorCache
from factoid.heading_template import EMBED_TEMPLATE
from factoid.progress import tracked
from factoid.propositions import Propositionizer, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import CachedPropositionizer
from factoid.propositions.decompose import decompose
from factoid.ranking import Weights
from factoid.split import WORDS, split_passages, split_sentences
from factoid.store import UnitStore
from factoid.store.document_units import assemble
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, Hit, Unit
from factoid.words import count_words

KINDS = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)

_QUERIES = 256  # in one search
_VECTORS_ALONE = Weights(0, 0)
_MOST_PASSAGES = 1000  # in which the name of an entity is counted


class PaperCorpus:
    """Documents cut as in Appendix A: passages of 100 words, their sentences and propositions.

    Args:
        documents: The corpus.
        words: Of a passage, 100 in the paper; half of them are the fewest of its last one.
        propositionizer: None for `SyntaxPropositionizer()`.
        sentences: Finds the ends of sentences; None for our rules.
        cache: A folder that keeps propositions and vectors, so that a killed run goes on.
        progress: Show progress bars.

    Raises:
        InvalidInputError: The documents hold no text.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        *,
        words: int = WORDS,
        propositionizer: Propositionizer | None = None,
        sentences: SentenceSplitter | None = None,
        cache: str | Path | None = None,
        progress: bool | None = None,
    ) -> None:
        self.documents = list({document.id: document for document in documents}.values())
        if propositionizer is None:
            propositionizer = SyntaxPropositionizer()
        self.propositionizer = propositionizer
        self._words = words
        self._sentence_splitter = sentences
        self._cache: Path | None = None
        if cache is not None:
            self._cache = Path(cache)
            self._cache.mkdir(parents=True, exist_ok=True)
        self._progress = progress
        if not self.passages:
            raise InvalidInputError("the corpus holds no text: name files or folders with text")

    @cached_property
    def passages(self) -> list[Unit]:
        """The passages, each once."""
        passages = {}
        for document in tracked(
            self.documents, show=self._progress, unit=" documents", desc="splitting"
        ):
            for passage in split_passages(
                document,
                words=self._words,
                join_paragraphs=False,
                sentences=self._sentence_splitter,
            ):
                passages[passage.id] = passage
        return list(passages.values())

    @cached_property
    def sentences(self) -> list[Unit]:
        """The sentences of the passages."""
        sentences = []
        for passage in self.passages:
            sentences += split_sentences(passage, self._sentence_splitter)
        return sentences

    @cached_property
    def propositions(self) -> list[Unit]:
        """The propositions of the passages."""
        propositionizer = self.propositionizer
        if self._cache is not None:
            propositionizer = CachedPropositionizer(
                propositionizer, self._cache / "propositions.sqlite", progress=bool(self._progress)
            )
        units = decompose(self.passages, propositionizer).units
        return list({unit.id: unit for unit in units}.values())

    def units(self, kind: Granularity) -> list[Unit]:
        """Return the units of a granularity."""
        if kind is Granularity.PASSAGE:
            return self.passages
        if kind is Granularity.SENTENCE:
            return self.sentences
        return self.propositions

    def statistics(self) -> dict[tuple[str, str], float]:
        """Return the number and mean length of the units of each granularity (Table 1)."""
        measured = {}
        for kind in KINDS:
            units = self.units(kind)
            words = sum(count_words(unit.text) for unit in units)
            measured[kind.title(), "# units"] = float(len(units))
            measured[kind.title(), "Avg. # words"] = words / max(len(units), 1)
        return measured

    def store(
        self,
        encoder: Encoder | None,
        *,
        template: str = EMBED_TEMPLATE,
        kinds: Sequence[Granularity] = KINDS,
    ) -> UnitStore:
        """Return a store with an exact index; without an encoder it is searched by words only."""
        propositions: list[Unit] = []
        if Granularity.PROPOSITION in kinds:
            propositions = self.propositions
        units = assemble(self.passages, propositions, kinds)
        vectors: list[None] | None = [None] * len(units)
        if encoder is not None:
            folder = None
            if self._cache is not None:
                folder = self._cache / "vectors"
            encoder = VectorCache(encoder, folder, progress=self._progress)
            vectors = None
        store = UnitStore(
            encoder=encoder,
            granularities=list(kinds),
            embed_template=template,
            index="Flat",
            progress=False,
        )
        store.add(units, vectors=vectors)
        return store


def search_vectors(
    store: UnitStore, questions: Sequence[str], kind: Granularity, k: int, parents: str
) -> list[list[Hit]]:
    """Return the best k units or passages for each question, by vectors of one granularity."""
    hits: list[list[Hit]] = []
    for start in range(0, len(questions), _QUERIES):
        hits += store.search_batch(
            questions[start : start + _QUERIES],
            k,
            granularity=kind,
            weights=_VECTORS_ALONE,
            parents=parents,  # type: ignore[arg-type]
        )
    return hits


def search_words(store: UnitStore, questions: Sequence[str], k: int) -> list[list[Hit]]:
    """Return the best k passages for each question, by BM25."""
    hits: list[list[Hit]] = []
    for start in range(0, len(questions), _QUERIES):
        hits += store.search_batch(
            questions[start : start + _QUERIES], k, lexical=1.0, parents="passage"
        )
    return hits


def popularity(store: UnitStore, questions: Sequence[DatasetQuestion]) -> list[float | None]:
    """Return how well known the entity of each question is (Dense X Retrieval, §5.2).

    It is the number of times that its name occurs in the thousand best passages for it by BM25, or
    what the data set says; None for a question without an annotated entity.
    """
    names = []
    for question in questions:
        if question.entities and question.popularity is None:
            names.append(question.entities[0])
    counts: dict[str, float] = {}
    distinct = list(dict.fromkeys(names))
    for name, hits in zip(distinct, search_words(store, distinct, _MOST_PASSAGES), strict=True):
        folded = name.casefold()
        counts[name] = float(sum(hit.unit.text.casefold().count(folded) for hit in hits))
    values: list[float | None] = []
    for question in questions:
        value = question.popularity
        if value is None and question.entities:
            value = counts[question.entities[0]]
        values.append(value)
    return values


def sizes(questions: Mapping[str, Sequence[DatasetQuestion]]) -> str:
    """Return how many questions there are of each set, in words."""
    return ", ".join(f"{len(asked):,} of {name}" for name, asked in questions.items())
