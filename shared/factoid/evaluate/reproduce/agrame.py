"""The tables of AGRaME (Reddy et al., 2024)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.evaluate.atomic_facts import FactCorpus, score_atomic_facts
from factoid.evaluate.citations import (
    CitedText,
    EntailmentModel,
    mean_scores,
    score_citations,
    score_gold,
)
from factoid.evaluate.datasets import DatasetQuestion
from factoid.evaluate.granularities import AskedPassages, score_levels
from factoid.evaluate.reproduce.corpus import PaperCorpus, search_vectors, sizes
from factoid.evaluate.reproduce.dense_x import NAMES
from factoid.evaluate.reproduce.tables import ReproducedTable, beside_published
from factoid.late_interaction import AnyGranularityRanker, LateInteractionEncoder, PropCite
from factoid.propositions import Propositionizer
from factoid.units import Document, Granularity

PAPER = "agrame"
OURS = "Ours"
"""The name of the model that was trained with the loss over sentences."""
BASELINE = "ColBERTv2"
ONE_MARKER = "One marker"
"""The name of the model that was trained with it under one marker (Table 5, A3)."""

_FIRST = 100  # passages of the first stage that are ranked (§4.1.1)
_MARKERS = {
    "A1": "A1) Train m'q, rank m'q",
    "A2": "A2) Train m'q, rank mq",
    "A3": "A3) Train mq, rank mq",
}
_THRESHOLD = 1.0  # footnote 5

Measured = dict[tuple[str, str], float]
Model = AnyGranularityRanker | Encoder


def reproduce_rankings(
    documents: Sequence[Document],
    questions: Mapping[str, Sequence[DatasetQuestion]],
    models: Mapping[str, Model],
    *,
    first: Encoder,
    cache: str | Path | None = None,
    progress: bool | None = None,
) -> list[ReproducedTable]:
    """Measure Tables 3 and 5 on given data: sentences and passages of a first stage, ranked.

    Args:
        documents: The corpus.
        questions: By the name of their set; the paper's are NQ, TQA, WebQ and EQ.
        models: Rankers, and single-vector encoders, by name. `OURS`, `BASELINE` and `ONE_MARKER`
            are rows of Table 5; the paper's encoder is "Contriever".
        first: Finds the 100 passages that are ranked; Contriever in the paper.
        cache: A folder that keeps the vectors of the first stage.
        progress: Show progress bars.

    Raises:
        InvalidInputError: There are no questions with answers, or no models.
    """
    asked = {}
    for name, rows in questions.items():
        asked[name] = [question for question in rows if question.answers]
    if not models or not any(asked.values()):
        raise InvalidInputError("expected at least one model, and one question with an answer")
    corpus = PaperCorpus(documents, cache=cache, progress=progress)
    measured: Measured = {}
    markers: Measured = {}
    with corpus.store(first, kinds=[Granularity.PASSAGE]) as store:
        for dataset, rows in asked.items():
            texts = [question.text for question in rows]
            ranked = search_vectors(store, texts, Granularity.PASSAGE, _FIRST, "passage")
            with_passages = []
            for question, hits in zip(rows, ranked, strict=True):
                passages = []
                for hit in hits:
                    unit = hit.unit
                    passages.append(Document(unit.text, unit.title, unit.section))
                with_passages.append(AskedPassages(question.text, passages, question.answers))
            for name, model in models.items():
                for level in score_levels(model, with_passages):
                    row = f"{NAMES.get(name, name)}, {level.encoding}s encoded"
                    of_level = {
                        "sentence P@1": level.sentence_p1,
                        "sentence R@5": level.sentence_r5,
                        "passage P@1": level.passage_p1,
                        "passage R@5": level.passage_r5,
                    }
                    for column, value in of_level.items():
                        if value is not None:
                            measured[row, f"{dataset} {column}"] = 100 * value
            for name, variant in _variants(models):
                *_, passages_encoded = score_levels(variant, with_passages)
                if passages_encoded.sentence_p1 is not None:
                    markers[name, dataset] = 100 * passages_encoded.sentence_p1
    first_name = getattr(first, "name", type(first).__name__)
    notes = [
        f"The corpus is {len(corpus.documents):,} documents with {len(corpus.passages):,} "
        "passages; the paper's is Wikipedia of 2018 with 22 million.",
        f"The first {_FIRST} passages come from {first_name}; the paper's from Contriever for MS "
        f"MARCO. The questions are {sizes(asked)}.",
    ]
    tables = [beside_published(PAPER, "Table 3", measured, notes)]
    if markers:
        tables.append(beside_published(PAPER, "Table 5", markers, notes))
    return tables


def _variants(models: Mapping[str, Model]) -> Iterator[tuple[str, AnyGranularityRanker]]:
    """Yield the rows of Table 5, each with its ranker."""
    baseline = models.get(BASELINE)
    if isinstance(baseline, AnyGranularityRanker):
        yield BASELINE, baseline
    ours = models.get(OURS)
    if isinstance(ours, AnyGranularityRanker):
        encoder = ours.encoder
        if isinstance(encoder, LateInteractionEncoder) and encoder.has_finer_marker():
            yield _MARKERS["A1"], ours
            yield (
                _MARKERS["A2"],
                AnyGranularityRanker(
                    encoder.with_one_marker(), alpha=ours.alpha, template=ours.template
                ),
            )
    one = models.get(ONE_MARKER)
    if isinstance(one, AnyGranularityRanker):
        yield _MARKERS["A3"], one


def reproduce_facts(
    corpus: FactCorpus, models: Mapping[str, AnyGranularityRanker]
) -> ReproducedTable:
    """Measure Table 7: propositions of sentences, found by propositions of sentences."""
    measured: Measured = {}
    for name, model in models.items():
        scores = score_atomic_facts(model.encoder, corpus)
        measured[name, "proposition P@1"] = 100 * scores.proposition_p1
        measured[name, "proposition R@5"] = 100 * scores.proposition_r5
        measured[name, "sentence P@1"] = 100 * scores.sentence_p1
        measured[name, "sentence R@5"] = 100 * scores.sentence_r5
    note = (
        f"{len(corpus.queries):,} queries among {len(corpus.targets):,} propositions; the paper "
        "has 8,800 among 45,000."
    )
    return beside_published(PAPER, "Table 7", measured, [note])


def reproduce_citations(
    answers: Sequence[CitedText],
    model: AnyGranularityRanker,
    *,
    judge: EntailmentModel | None = None,
    propositionizer: Propositionizer | None = None,
) -> ReproducedTable:
    """Measure Table 9: the citations that came with answers, and those that PropCite adds.

    Args:
        answers: Their citations are the row "Generate"; if no answer has any, the row is left out.
        model: Ranks passages by propositions.
        judge: Says whether passages support a sentence, as in ALCE; None judges by the answers'
            gold citations.
        propositionizer: Splits sentences into propositions; None for `SyntaxPropositionizer()`.

    Raises:
        InvalidInputError: There is no judge, and an answer has no gold citations; or there are no
            answers.
    """
    if not answers:
        raise InvalidInputError("expected at least one answer with passages, got none")
    variants = {"Generate": list(answers)}
    if not any(any(text.citations) for text in answers):
        variants = {}
    methods = {
        "PropCite": PropCite(model, propositionizer=propositionizer),
        "+ Thresholding": PropCite(model, propositionizer=propositionizer, min_margin=_THRESHOLD),
        "(i) Propositions as query": PropCite(
            model, propositionizer=propositionizer, method="bare proposition"
        ),
        "(ii) Sentence as query (top 1)": PropCite(model, method="sentence"),
        "(iii) Sentence as query (top 2)": PropCite(model, method="sentence", passages_per_claim=2),
    }
    for name, cite in methods.items():
        variants[name] = [_cited(text, cite) for text in answers]
    measured: Measured = {}
    for name, texts in variants.items():
        if judge is None:
            scores = mean_scores(score_gold(texts))
        else:
            scores = mean_scores(score_citations(texts, judge))
        measured[name, "precision"] = 100 * scores.precision
        measured[name, "recall"] = 100 * scores.recall
    how = "gold citations"
    if judge is not None:
        how = str(getattr(judge, "model", type(judge).__name__))
    sentences = sum(len(text.sentences) for text in answers)
    notes = [
        f"{len(answers):,} answers with {sentences:,} sentences, judged by {how}; the paper's are "
        "ASQA's by Mistral 7B with 5 passages, judged by TRUE (11B).",
        f"Propositions are made by {_name(methods['PropCite'].propositionizer)}; the paper's by a "
        "T5 for sentences.",
    ]
    return beside_published(PAPER, "Table 9", measured, notes)


def _cited(text: CitedText, cite: PropCite) -> CitedText:
    """Return an answer with the citations that PropCite gives to each of its sentences."""
    citations = []
    for sentence in text.sentences:
        cited = cite.cite(sentence, text.passages)
        places = [citation.position for citation in cited.citations]
        citations.append(list(dict.fromkeys(places)))
    return replace(text, citations=citations)


def _name(maker: object) -> str:
    return str(getattr(maker, "name", type(maker).__name__))
