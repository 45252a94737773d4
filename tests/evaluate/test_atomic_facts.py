from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.evaluate.atomic_facts import Fact, FactCorpus, read_fact_corpus, score_atomic_facts
from tests.late_interaction.word_vectors import TextVectors, WordVectors

WORDS = "anna was born in oslo and she moved to berlin where he works".split()


@st.composite
def corpora(draw):
    """Queries are some of the targets, as in the task, and one fact from elsewhere."""
    sentences = draw(
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=3, max_size=10)
    )
    targets = []
    for number, words in enumerate(sentences):
        text = " ".join(words)
        for part in range(draw(st.integers(1, 4))):
            chosen = sorted(draw(st.sets(st.integers(0, len(words) - 1), max_size=3)))
            starts = [len(" ".join(words[:place])) + (place > 0) for place in chosen]
            spans = tuple(
                (start, start + len(words[place]))
                for start, place in zip(starts, chosen, strict=True)
            )
            targets.append(Fact(f"c_d_{number}_{part}", f"c_d_{number}", text, spans))
    ids = [fact.id for fact in targets]
    asked = [
        *draw(st.lists(st.sampled_from(targets), min_size=1, max_size=3)),
        Fact("q", "s", "anna works", ((0, 4),)),
    ]
    labels = [
        tuple(draw(st.lists(st.sampled_from([*ids, "absent"]), max_size=4, unique=True)))
        for _ in asked
    ]
    labels[0] = (*labels[0], ids[-1]) if ids[-1] not in labels[0] else labels[0]
    return FactCorpus(
        [replace(fact, labels=label) for fact, label in zip(asked, labels, strict=True)], targets
    )


def loop(corpus):
    """The measures from single products, query by query."""
    encoder = TextVectors()
    totals, asked = np.zeros(4), 0
    known = {fact.id: fact for fact in corpus.targets}
    for query in corpus.queries:
        labels = [label for label in query.labels if label in known]
        if not labels:
            continue
        asked += 1
        query_tokens = inside(encoder.encode_query(query.sentence), query)
        scored = []
        for order, target in enumerate(corpus.targets):
            tokens = inside(encoder.encode_passages([target.sentence])[0], target)
            scored.append(
                (-sum(max(float(a @ b) for b in tokens) for a in query_tokens), order, target)
            )
        best = [target for _, _, target in sorted(scored)[:21] if target.id != query.id]
        sentences = []
        for target in best:
            if target.sentence_id not in sentences:
                sentences.append(target.sentence_id)
        right = {known[label].sentence_id for label in labels}
        totals += [
            best[:1] != [] and best[0].id in labels,
            len([label for label in labels if label in [target.id for target in best[:5]]])
            / len(labels),
            sentences[:1] != [] and sentences[0] in right,
            len([sentence for sentence in right if sentence in sentences[:5]]) / len(right),
        ]
    return totals / asked


def inside(tokens, fact):
    rows = zip(tokens.vectors.astype(np.float32), tokens.spans.tolist(), strict=True)
    chosen = [
        vector
        for vector, (start, end) in rows
        if any(start < last and first < end for first, last in fact.spans)
    ]
    return chosen or list(tokens.vectors)


@settings(max_examples=60, deadline=None)
@given(corpora())
def test_against_a_loop_over_single_products(corpus):
    scores = score_atomic_facts(TextVectors(), corpus)
    figures = (scores.proposition_p1, scores.proposition_r5, scores.sentence_p1, scores.sentence_r5)
    assert figures == pytest.approx(loop(corpus))


def test_labels_are_needed():
    fact = Fact("a", "s", "anna moved", ((0, 4),), ("elsewhere",))
    with pytest.raises(
        InvalidInputError, match="none of 1 queries has a label among the 1 targets"
    ):
        score_atomic_facts(WordVectors(), FactCorpus([fact], [fact]))


LINE = {"id": "7_8_0_0", "sentence_text": "Anna moved.", "spans": [{"end": 4, "start": 0}]}


def test_files(tmp_path):
    target = {"id": "7_9_1_0", "sentence_text": "She left Oslo.", "spans": [[0, 3], [9, 13]]}
    (tmp_path / "queries").write_text(json.dumps(LINE | {"label": ["7_9_1_0"]}))
    (tmp_path / "targets").write_text(json.dumps(target))
    corpus = read_fact_corpus(tmp_path / "queries", tmp_path / "targets")
    assert corpus.queries == [Fact("7_8_0_0", "7_8_0", "Anna moved.", ((0, 4),), ("7_9_1_0",))]
    assert corpus.targets == [Fact("7_9_1_0", "7_9_1", "She left Oslo.", ((0, 3), (9, 13)))]


@pytest.mark.parametrize(
    "wrong", [{"id": 7}, {"spans": [[0]]}, {"label": 3}, {"sentence_text": None}]
)
def test_lines_of_another_form(tmp_path, wrong):
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps(LINE | wrong))
    with pytest.raises(UnreadableFileError, match=r"facts\.jsonl:1: "):
        read_fact_corpus(path, path)
