"""Atomic fact retrieval.

A proposition retrieves those that state the same fact (AGRaME, §4.2 and Table 7). All propositions
are parts of sentences, which are encoded as a whole, as queries under m_q and as passages. Only the
tokens of the two propositions count.

The measures are those of the sub-sentence encoder's program (Chen et al., 2023). Among a query's 21
best propositions, without the query itself, P@1 is the share of queries whose first is a label, R@5
the mean share of a query's labels among the first five. Sentence measures replace propositions and
labels by their sentences, each of which counts once; the query's sentence stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factoid.errors import InvalidInputError
from factoid.files.lines import read_records
from factoid.inner_products import products
from factoid.late_interaction import TokenEncoder, TokenVectors, token_mask
from factoid.sentences import Span
from factoid.units import check_text

_READ = 21  # the best propositions of a query, before the query itself is left out
_FEW = 5


@dataclass(frozen=True, slots=True)
class Fact:
    """A proposition as a part of its sentence.

    Attributes:
        spans: Where the proposition's words stand in the sentence, in characters.
        labels: For a query, the ids of the propositions that it should find.
    """

    id: str
    sentence_id: str
    sentence: str
    spans: tuple[Span, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactCorpus:
    """Queries and targets; a query may be among the targets under the same id."""

    queries: Sequence[Fact]
    targets: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class AtomicFactScores:
    """One row of Table 7, from 0 to 1: scores of ranked propositions, and of their sentences.

    Attributes:
        queries: The queries, without those that have no label among the targets.
    """

    proposition_p1: float
    proposition_r5: float
    sentence_p1: float
    sentence_r5: float
    queries: int


def score_atomic_facts(encoder: TokenEncoder, corpus: FactCorpus) -> AtomicFactScores:
    """Rank the targets for each query by MaxSim, and compare the best with the labels.

    It is over the tokens of both. If the model scores no token of a proposition, its whole sentence
    is scored.

    Raises:
        InvalidInputError: No query has a label among the targets.
    """
    targets = corpus.targets
    ids = []
    sentence_ids = []
    for fact in targets:
        ids.append(fact.id)
        sentence_ids.append(fact.sentence_id)
    sentence_of = dict(zip(ids, sentence_ids, strict=True))
    queries = []
    for fact in corpus.queries:
        if not sentence_of.keys().isdisjoint(fact.labels):
            queries.append(fact)
    if not queries:
        raise InvalidInputError(
            f"none of {len(corpus.queries)} queries has a label among the {len(ids)} targets"
        )
    texts = list(dict.fromkeys(fact.sentence for fact in targets))
    encoded: dict[str, TokenVectors] = {}
    first_columns = {}  # of the tokens of a sentence among those of all
    count = 0
    for text, tokens in zip(texts, encoder.encode_passages(texts), strict=True):
        encoded[text] = tokens
        first_columns[text] = count
        count += len(tokens.spans)
    vectors = np.concatenate([tokens.vectors for tokens in encoded.values()])
    columns = []
    for fact in targets:
        tokens_of_fact = np.flatnonzero(_mask(encoded[fact.sentence], fact))
        columns.append(first_columns[fact.sentence] + tokens_of_fact)
    starts = np.cumsum([0, *map(len, columns)])[:-1]
    gathered = np.concatenate(columns)
    query_tokens = {}
    for text in dict.fromkeys(fact.sentence for fact in queries):
        query_tokens[text] = encoder.encode_query(text)
    counts = np.zeros(4)
    for query in queries:
        # Sentences are multiplied once, as each of their tokens may be in several propositions.
        tokens = query_tokens[query.sentence]
        similarities = products(tokens.vectors[_mask(tokens, query)], vectors.T)[:, gathered]
        scores = np.maximum.reduceat(similarities, starts, axis=1).sum(axis=0, dtype=np.float64)
        best = []
        for place in np.argsort(-scores, kind="stable")[:_READ].tolist():
            if ids[place] != query.id:
                best.append(place)
        labels = set()
        sentence_labels = set()
        for label in query.labels:
            if label in sentence_of:
                labels.add(label)
                sentence_labels.add(sentence_of[label])
        counts[:2] += _shares([ids[place] for place in best], labels)
        ranked = [sentence_ids[place] for place in best]
        counts[2:] += _shares(list(dict.fromkeys(ranked)), sentence_labels)
    proposition_p1, proposition_r5, sentence_p1, sentence_r5 = (counts / len(queries)).tolist()
    return AtomicFactScores(proposition_p1, proposition_r5, sentence_p1, sentence_r5, len(queries))


def read_fact_corpus(queries: str | PathLike[str], targets: str | PathLike[str]) -> FactCorpus:
    """Read queries and targets from JSON lines, the form in which the task of Table 7 is published.

    Each line has an `id` of cluster, document, sentence and proposition, joined by "_";
    `sentence_text`; and `spans`, as objects with `start` and `end`, or pairs. A query also has its
    labels' ids as `label`.

    Raises:
        UnreadableFileError: A file cannot be read, or a line has another form.
    """
    return FactCorpus(_read_facts(queries), _read_facts(targets))


def _read_facts(path: str | PathLike[str]) -> list[Fact]:
    expected = "an object with id, sentence_text and spans"
    return list(read_records(Path(path), _fact, expected=expected))


def _mask(tokens: TokenVectors, fact: Fact) -> NDArray[np.bool_]:
    mask = token_mask(tokens.spans, fact.spans)
    if mask.any():
        return mask
    return np.ones(len(tokens.spans), bool)


def _shares(ranked: Sequence[str], labels: set[str]) -> tuple[float, float]:
    """Return P@1 and R@5."""
    p1 = float(not labels.isdisjoint(ranked[:1]))
    r5 = len(labels.intersection(ranked[:_FEW])) / len(labels)
    return p1, r5


def _fact(fields: dict[str, Any]) -> Fact:
    pairs = []
    for span in fields["spans"]:
        if isinstance(span, dict):
            pairs.append((span["start"], span["end"]))
        else:
            pairs.append(span)
    fact_id = fields["id"]
    text = fields["sentence_text"]
    label = fields.get("label", ())
    check_text(text, "sentence_text")
    spans = [(int(start), int(end)) for start, end in pairs]
    if isinstance(label, str):
        label = (label,)
    sentence_id = "_".join(fact_id.split("_")[:3])
    return Fact(fact_id, sentence_id, text, tuple(spans), tuple(label))
