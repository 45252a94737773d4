"""The tables of Entity Retrieval (Shavarani and Sarkar, 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from factoid.encode import Encoder
from factoid.entities import AnnotatedLinker, ArticleStore, EntityLinker, EntityRetriever
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import (
    has_answer_normalized,
    normalize_answer,
    score_answers,
    score_yes_no,
)
from factoid.evaluate.datasets import DatasetQuestion
from factoid.evaluate.rankings import judge, mrr, ndcg, top_k_accuracy
from factoid.evaluate.reproduce.corpus import (
    PaperCorpus,
    search_vectors,
    search_words,
    sizes,
)
from factoid.evaluate.reproduce.dense_x import NAMES, read_all
from factoid.evaluate.reproduce.tables import ReproducedTable, beside_published, new_table
from factoid.readers import Reader, document_text, normalize_question
from factoid.units import Document, Granularity, Hit

PAPER = "entity-retrieval"

_WORDS = (50, 100, 300, 1000)
_DEPTHS = (1, 2, 3, 4, 5, 20, 100)  # of Figure 3
_MOST = 100
_READ = 4  # documents in a prompt (§4.4)
_YES_NO = ("yes", "no")

Measured = dict[tuple[str, str], float]
Retrieved = list[list[str]]  # for each question the texts, best first


@dataclass(frozen=True, slots=True)
class _Set:
    """Questions of one set."""

    name: str
    questions: Sequence[DatasetQuestion]

    @property
    def texts(self) -> list[str]:
        """The questions in the form in which they are linked and asked."""
        return [normalize_question(question.text) for question in self.questions]

    @property
    def answers(self) -> list[Sequence[str]]:
        return [question.answers for question in self.questions]


def reproduce_entity_retrieval(
    documents: Sequence[Document],
    questions: Mapping[str, Sequence[DatasetQuestion]],
    articles: ArticleStore,
    *,
    linkers: Mapping[str, EntityLinker] | None = None,
    retrievers: Mapping[str, Encoder] | None = None,
    reader: Reader | None = None,
    cache: str | Path | None = None,
    progress: bool | None = None,
) -> list[ReproducedTable]:
    """Measure Tables 1, 2, 3 and 5 and Figures 3 and 4 on given data.

    Args:
        documents: The corpus that BM25 and the dense retrievers search, in passages of 100 words;
            empty leaves them out.
        questions: By the name of their set; the paper's are FactoidQA, "EQ dev", "EQ test", and of
            StrategyQA "train" and "train_filtered".
        articles: The articles that entities are looked up in.
        linkers: By the letters that stand for them, as in "ERSp" for SpEL; "ER" alone are the
            entities that questions are annotated with, and needs no linker.
        retrievers: Encoders by name, such as "DPR" and "ANCE".
        reader: Answers from the first four documents, for Tables 2 and 5; None leaves them out.
        cache: A folder that keeps vectors for the next run.
        progress: Show progress bars.

    Raises:
        InvalidInputError: There are no questions.
    """
    sets = []
    for name, rows in questions.items():
        if rows:
            sets.append(_Set(name, rows))
    if not sets:
        raise InvalidInputError("expected at least one question, got none")
    run = _Run(articles, dict(linkers or {}), reader)
    for asked in sets:
        run.measure("Closed-book", asked, [[] for _ in asked.questions])
    if documents:
        corpus = PaperCorpus(documents, cache=cache, progress=progress)
        kinds = [Granularity.PASSAGE]
        with corpus.store(None, kinds=kinds) as store:
            for asked in sets:
                run.measure("BM25", asked, _texts(search_words(store, asked.texts, _MOST)))
        for name, encoder in (retrievers or {}).items():
            with corpus.store(encoder, kinds=kinds) as store:
                for asked in sets:
                    passages = search_vectors(
                        store, asked.texts, Granularity.PASSAGE, _MOST, "passage"
                    )
                    run.measure(NAMES.get(name, name), asked, _texts(passages))
    for asked in sets:
        run.measure_linkers(asked)
        run.measure_entities(asked)
    return run.tables(questions, len(documents))


class _Run:
    """What has been measured so far."""

    def __init__(
        self, articles: ArticleStore, linkers: Mapping[str, EntityLinker], reader: Reader | None
    ) -> None:
        self._articles = articles
        self._linkers = linkers
        self._reader = reader
        self._mrr: Measured = {}
        self._ndcg: Measured = {}
        self._found: Measured = {}
        self._answered: Measured = {}
        self._linked: Measured = {}
        self._yes_no: Measured = {}

    def measure(self, row: str, asked: _Set, retrieved: Retrieved) -> None:
        """Measure what a retriever found for each question."""
        if all(question.truth is not None for question in asked.questions):
            self._measure_yes_no(row, asked, retrieved)
            return
        if row != "Closed-book":
            relevant = judge(retrieved, asked.answers, has_answer_normalized)
            self._mrr[row, asked.name] = mrr(relevant)
            for depth in _DEPTHS:
                self._ndcg[row, f"{asked.name} nDCG@{depth}"] = ndcg(relevant, depth)
                accuracy = top_k_accuracy(relevant, depth)
                self._found[row, f"{asked.name} top-{depth}"] = 100 * accuracy
        if self._reader is not None:
            predictions = read_all(self._reader, asked.texts, _first(retrieved))
            scores = score_answers(*_yes_no_as_words(predictions, asked.answers))
            self._answered[row, f"{asked.name} EM"] = 100 * scores.exact_match
            self._answered[row, f"{asked.name} F1"] = 100 * scores.f1

    def measure_entities(self, asked: _Set) -> None:
        """Measure the articles of entities, by annotations and by each linker."""
        linkers = dict(self._linkers)
        if all(question.entities for question in asked.questions):
            titles = {}
            for text, question in zip(asked.texts, asked.questions, strict=True):
                titles[text] = list(question.entities)
            linkers = {"ER": AnnotatedLinker(titles), **linkers}
        for letters, linker in linkers.items():
            for words in _WORDS:
                retriever = EntityRetriever(self._articles, linker, words=words, k=_READ)
                hits = [retriever.entity_hits(text) for text in asked.texts]
                self.measure(f"{letters}{words}w", asked, _texts(hits))

    def measure_linkers(self, asked: _Set) -> None:
        """Count the entities that each linker finds (Table 3)."""
        for letters, linker in self._linkers.items():
            counts = []
            for text in asked.texts:
                titles = {mention.title for mention in linker.link(text)}
                counts.append(len(titles))
            row = asked.name
            if len(self._linkers) > 1:
                row += f", {letters}"
            self._linked[row, "Max."] = float(max(counts))
            self._linked[row, "Avg."] = fmean(counts)
            self._linked[row, "Linked %"] = 100 * fmean(map(bool, counts))

    def _measure_yes_no(self, row: str, asked: _Set, retrieved: Retrieved) -> None:
        if self._reader is None:
            return
        truths = [bool(question.truth) for question in asked.questions]
        scores = score_yes_no(read_all(self._reader, asked.texts, _first(retrieved)), truths)
        self._yes_no[row, f"{asked.name} Acc."] = 100 * scores.accuracy
        self._yes_no[row, f"{asked.name} Inv #"] = float(scores.invalid)

    def tables(
        self, questions: Mapping[str, Sequence[DatasetQuestion]], documents: int
    ) -> list[ReproducedTable]:
        """Return what was measured, in the paper's layout."""
        notes = [
            f"The questions are {sizes(questions)}. There are {len(self._articles):,} articles, "
            f"and {documents:,} documents to search; the paper searches 21 million passages of "
            "Wikipedia, and EntityQuestions about the 500,000 most linked pages."
        ]
        tables = []
        if self._mrr:
            tables.append(beside_published(PAPER, "Table 1", self._mrr, notes))
            title = "nDCG@k of retrieved documents, the ideal order being that of those retrieved"
            tables.append(new_table(PAPER, "Figure 3", title, self._ndcg, decimals=3))
            title = "Share of questions with an answer among the first k documents, in %"
            tables.append(new_table(PAPER, "Figure 4", title, self._found))
        if self._answered or self._yes_no:
            name = getattr(self._reader, "name", type(self._reader).__name__)
            notes = [
                *notes,
                f"The reader is {name}; the paper's is LLaMA 3 (8B), with sampling, and its "
                "numbers are means of three runs.",
            ]
        if self._answered:
            tables.append(beside_published(PAPER, "Table 2", self._answered, notes))
        if self._linked:
            linker = ", ".join(type(linker).__name__ for linker in self._linkers.values())
            note = f"The linker is {linker}; the paper's is SpEL."
            tables.append(beside_published(PAPER, "Table 3", self._linked, [note]))
        if self._yes_no:
            tables.append(beside_published(PAPER, "Table 5", self._yes_no, notes))
        return tables


def _texts(ranked: Sequence[Sequence[Hit]]) -> Retrieved:
    """Return the texts that are judged and read: title and text, as in Tables 7 to 10."""
    texts = []
    for hits in ranked:
        row = []
        for hit in hits:
            row.append(document_text(hit.unit.title, hit.unit.text))
        texts.append(row)
    return texts


def _yes_no_as_words(
    predictions: Sequence[str], answers: Sequence[Sequence[str]]
) -> tuple[list[str], list[Sequence[str]]]:
    """Return answers to score: of a yes-or-no question, what begins with either is that word.

    Only so are the published scores of FactoidQA what they are.
    """
    said = []
    expected: list[Sequence[str]] = []
    for prediction, right in zip(predictions, answers, strict=True):
        words = list(map(_word, right))
        if any(word in _YES_NO for word in words):
            said.append(_word(prediction))
            expected.append(words)
        else:
            said.append(prediction)
            expected.append(right)
    return said, expected


def _word(answer: str) -> str:
    """Return "yes" or "no" for an answer that begins with the word, else the answer."""
    words = normalize_answer(answer).split()
    if words and words[0] in _YES_NO:
        return words[0]
    return answer


def _first(retrieved: Retrieved) -> Retrieved:
    """Return the documents that are read (§4.4)."""
    return [texts[:_READ] for texts in retrieved]
