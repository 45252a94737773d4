"""The tables of Dense X Retrieval (Chen et al., 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from factoid.dual_encoders import RETRIEVERS
from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import exact_match, has_answer_dpr
from factoid.evaluate.datasets import DatasetQuestion
from factoid.evaluate.reproduce.corpus import (
    KINDS,
    PaperCorpus,
    popularity,
    search_vectors,
    sizes,
)
from factoid.evaluate.reproduce.tables import (
    ReproducedTable,
    beside_published,
    new_table,
    published_table,
)
from factoid.heading_template import EMBED_TEMPLATE
from factoid.packing import pack_context
from factoid.propositions import Propositionizer
from factoid.readers import Reader
from factoid.split import WORDS
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Hit
from factoid.words import count_words, cut_words

PAPER = "dense-x"
SETS = ("NQ", "TQA", "WebQ", "SQuAD", "EQ")

NAMES = {
    "simcse": "SimCSE",
    "contriever": "Contriever",
    "dpr": "DPR",
    "ance": "ANCE",
    "tas-b": "TAS-B",
    "gtr": "GTR",
}
"""What the papers' tables call the retrievers."""
_DEPTHS = (5, 20)
_BUDGETS = (100, 500)  # words of Table 3
_LENGTHS = (25, 50, 100, 150, 200, 300, 400, 500)  # words of Figure 4
_UNITS = 100  # of a context
_POPULARITIES = (3, 10, 30, 100, 1000)  # upper ends of Figure 3's bins

Measured = dict[tuple[str, str], float]


def reproduce_dense_x(
    documents: Sequence[Document],
    questions: Mapping[str, Sequence[DatasetQuestion]],
    retrievers: Mapping[str, Encoder],
    *,
    words: int = WORDS,
    propositionizer: Propositionizer | None = None,
    reader: Reader | None = None,
    sentences: SentenceSplitter | None = None,
    cache: str | Path | None = None,
    progress: bool | None = None,
) -> list[ReproducedTable]:
    """Measure Tables 1 to 3, Figures 3 and 4 and the split of §5.2 on given data.

    Args:
        documents: The corpus.
        questions: By the name of their set; the paper's are NQ, TQA, WebQ, SQuAD and EQ.
        retrievers: By name; those of `RETRIEVERS` read titles as they were trained to, others as
            `UnitStore` does by default.
        words: Of a passage.
        propositionizer: None for `SyntaxPropositionizer()`.
        reader: Answers from the first 100 and 500 words, for Table 3; None leaves it out.
        sentences: Finds the ends of sentences; None for our rules.
        cache: A folder that keeps propositions and vectors for the next run.
        progress: Show progress bars.

    Raises:
        InvalidInputError: There are no questions with answers, or no retrievers.
    """
    asked = {}
    for name, rows in questions.items():
        asked[name] = [question for question in rows if question.answers]
    if not retrievers or not any(asked.values()):
        raise InvalidInputError("expected at least one retriever, and one question with an answer")
    corpus = PaperCorpus(
        documents,
        words=words,
        propositionizer=propositionizer,
        sentences=sentences,
        cache=cache,
        progress=progress,
    )
    run = _Run(corpus, asked, reader)
    for name, encoder in retrievers.items():
        run.measure(name, encoder)
    return run.tables()


class _Run:
    """What has been measured so far."""

    def __init__(
        self,
        corpus: PaperCorpus,
        questions: Mapping[str, Sequence[DatasetQuestion]],
        reader: Reader | None,
    ) -> None:
        self._corpus = corpus
        self._questions = questions
        self._reader = reader
        self._recall: Measured = {}
        self._matches: Measured = {}
        self._curve: Measured = {}
        self._by_popularity: Measured = {}
        self._retrievers: list[str] = []
        self._popularity: dict[str, list[float | None]] = {}

    def measure(self, name: str, encoder: Encoder) -> None:
        """Measure one retriever at all granularities."""
        self._retrievers.append(name)
        template = EMBED_TEMPLATE
        if name in RETRIEVERS:
            template = RETRIEVERS[name].template
        with self._corpus.store(encoder, template=template) as store:
            for dataset, questions in self._questions.items():
                texts = [question.text for question in questions]
                if dataset not in self._popularity:
                    self._popularity[dataset] = popularity(store, questions)
                for kind in KINDS:
                    row = f"{NAMES.get(name, name)}, {kind}"
                    ranked = search_vectors(store, texts, kind, max(_DEPTHS), "passage")
                    self._add_recall(row, dataset, questions, ranked)
                    units = search_vectors(store, texts, kind, _UNITS, "unit")
                    self._add_answers(row, dataset, questions, units)

    def _add_recall(
        self,
        row: str,
        dataset: str,
        questions: Sequence[DatasetQuestion],
        ranked: Sequence[Sequence[Hit]],
    ) -> None:
        shares: dict[int, list[float]] = {depth: [] for depth in _DEPTHS}
        for question, hits in zip(questions, ranked, strict=True):
            right = [has_answer_dpr(hit.unit.text, question.answers) for hit in hits]
            for depth in _DEPTHS:
                shares[depth].append(float(any(right[:depth])))
        for depth, values in shares.items():
            self._recall[row, f"{dataset} R@{depth}"] = 100 * fmean(values)
        bins: dict[str, list[float]] = {}
        for value, known in zip(shares[_DEPTHS[0]], self._popularity[dataset], strict=True):
            if known is not None:
                bins.setdefault(_bin(known), []).append(value)
        for name in map(_bin, (*_POPULARITIES, float("inf"))):
            if name in bins:
                column = f"{dataset} {name} (n={len(bins[name])})"
                self._by_popularity[row, column] = 100 * fmean(bins[name])

    def _add_answers(
        self,
        row: str,
        dataset: str,
        questions: Sequence[DatasetQuestion],
        ranked: Sequence[Sequence[Hit]],
    ) -> None:
        contexts = []
        for hits in ranked:
            contexts.append(
                pack_context(hits, words=max(_LENGTHS), separator=" ", headings=False, repeats=True)
            )
        for length in _LENGTHS:
            answered = []
            for question, context in zip(questions, contexts, strict=True):
                answered.append(has_answer_dpr(cut_words(context, length), question.answers))
            self._curve[row, f"{dataset} {length} words"] = 100 * fmean(answered)
        if self._reader is None:
            return
        texts = [question.text for question in questions]
        for budget in _BUDGETS:
            short = [_first_words(hits, budget) for hits in ranked]
            right = []
            answers = read_all(self._reader, texts, short)
            for question, answer in zip(questions, answers, strict=True):
                right.append(exact_match(answer, question.answers))
            self._matches[row, f"{dataset} EM@{budget}"] = 100 * fmean(right)

    def tables(self) -> list[ReproducedTable]:
        """Return what was measured, in the paper's layout."""
        notes = self._notes()
        tables = [beside_published(PAPER, "Table 1", self._corpus.statistics(), notes[:2])]
        recall = {**self._recall, **_averages(self._recall, self._questions, ("R@5", "R@20"))}
        tables.append(beside_published(PAPER, "Table 2", recall, notes))
        if self._reader is not None:
            matches = {
                **self._matches,
                **_averages(self._matches, self._questions, ("EM@100", "EM@500")),
            }
            reader = getattr(self._reader, "name", type(self._reader).__name__)
            tables.append(
                beside_published(
                    PAPER,
                    "Table 3",
                    matches,
                    [*notes, f"The reader is {reader}; the paper's is UnifiedQA-v2 (T5-large)."],
                )
            )
        title = "Recall of the answer in the first words of what is retrieved"
        tables.append(new_table(PAPER, "Figures 4 and 7", title, self._curve))
        if self._by_popularity:
            title = (
                "Recall@5 by the popularity of the entity: occurrences in its 1,000 best passages "
                "by BM25, or the data set's own number"
            )
            tables.append(new_table(PAPER, "Figure 3", title, self._by_popularity))
        if RETRIEVERS.keys() & self._retrievers:
            tables.append(cross_task_table(self._recall, self._retrievers))
        return tables

    def _notes(self) -> list[str]:
        corpus = self._corpus
        maker = corpus.propositionizer
        name = getattr(maker, "name", type(maker).__name__)
        return [
            f"The corpus is {len(corpus.documents):,} documents with {len(corpus.passages):,} "
            "passages; the paper's is English Wikipedia of 2021-10-13 with 41 million, so recall "
            "is higher here than there for the same retriever.",
            f"Propositions are made by {name}; the paper's by its Flan-T5-large. Sentences end by "
            "our rules, unless a splitter was given; the paper's by spaCy's en_core_web_lg.",
            f"The questions are {sizes(self._questions)}.",
        ]


def cross_task_table(
    recall: Mapping[tuple[str, str], float], retrievers: Sequence[str]
) -> ReproducedTable:
    """Return Recall@5 on sets whose training questions a retriever has seen, and on others (§5.2).

    The published numbers are means of Table 2's.
    """
    columns = ("seen R@5", "unseen R@5")
    table = published_table(PAPER, "Table 2")
    printed: dict[str, list[float | None]] = {}
    measured: Measured = {}
    for name, preset in RETRIEVERS.items():
        for kind in KINDS:
            row = f"{NAMES[name]}, {kind}"
            [published] = [other.published for other in table.rows if other.name == row]
            by_column = dict(zip(table.columns, published, strict=True))
            ours: dict[str, list[float]] = {column: [] for column in columns}
            theirs: dict[str, list[float]] = {column: [] for column in columns}
            for dataset in SETS:
                side = columns[dataset not in preset.trained_on]
                theirs[side].append(by_column[f"{dataset} R@5"] or 0.0)
                if (row, f"{dataset} R@5") in recall:
                    ours[side].append(recall[row, f"{dataset} R@5"])
            printed[row] = [_mean(theirs[column]) for column in columns]
            for column in columns:
                mean = _mean(ours[column])
                if name in retrievers and mean is not None:
                    measured[row, column] = mean
    ordered = {}
    for column in columns:
        for key, value in measured.items():
            if key[1] == column:
                ordered[key] = value
    title = "Recall@5 on sets that the retriever was trained on, and on others"
    if not any(column == columns[0] for _, column in ordered):
        printed = {row: values[1:] for row, values in printed.items()}
    return new_table(PAPER, "Section 5.2", title, ordered, published=printed)


def _first_words(hits: Sequence[Hit], words: int) -> list[str]:
    """Return the ranked texts up to so many words in all, the last one cut.

    Joined by spaces they are the paper's context; a reader may also take them one by one.
    """
    texts = []
    room = words
    for hit in hits:
        if room <= 0:
            break
        text = cut_words(hit.unit.text, room)
        texts.append(text)
        room -= count_words(text)
    return texts


def read_all(
    reader: Reader, questions: Sequence[str], contexts: Sequence[Sequence[str]]
) -> list[str]:
    """Return a reader's answers, in batches if it can."""
    batch = getattr(reader, "read_batch", None)
    if batch is not None:
        answers: list[str] = batch(list(questions), list(contexts))
        return answers
    answers = []
    for question, context in zip(questions, contexts, strict=True):
        answers.append(reader.read(question, context))
    return answers


def _averages(
    measured: Measured, questions: Mapping[str, Sequence[DatasetQuestion]], names: Sequence[str]
) -> Measured:
    """Return the means over the paper's five sets, if all of them were asked."""
    averages: Measured = {}
    if not questions.keys() >= set(SETS):
        return averages
    for row in dict.fromkeys(row for row, _ in measured):
        for name in names:
            averages[row, f"Avg. {name}"] = fmean(
                measured[row, f"{dataset} {name}"] for dataset in SETS
            )
    return averages


def _mean(values: Sequence[float]) -> float | None:
    if values:
        return fmean(values)
    return None


def _bin(value: float) -> str:
    for end in _POPULARITIES:
        if value <= end:
            return f"≤ {end:,}"
    return f"> {_POPULARITIES[-1]:,}"
