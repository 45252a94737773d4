from __future__ import annotations

import re

import numpy as np
import pytest

from factoid import AnyGranularityRanker, Document, Granularity
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_normalized
from factoid.evaluate.granularities import AskedPassages, score_levels
from factoid.testing import HashEncoder
from tests.late_interaction.word_vectors import TextVectors, WordVectors

NAMES = "anna berg clara dora emil fritz greta hanna".split()
PLACES = "oslo berlin paris rome vienna madrid lisbon prague".split()
SENTENCE_END = re.compile(r"(?<=\.) ")


class TextEncoder:
    """Random vectors by text, so that no scores are equal by chance."""

    def encode_units(self, texts):
        return np.array(
            [np.random.default_rng([*text.encode()]).normal(size=8) for text in texts], np.float32
        )

    encode_queries = encode_units


def questions(seed):
    """Questions with more passages than R@5 looks at, in each of which sentences say where somebody
    was born.
    """
    random = np.random.default_rng(seed)
    for _ in range(12):
        passages = []
        for _ in range(random.integers(2, 9)):
            people = random.choice(NAMES, random.integers(1, 5))
            facts = [f"{name.title()} was born in {random.choice(PLACES)}." for name in people]
            passages.append(Document(" ".join(facts), title=f"Page {random.integers(9)}"))
        yield AskedPassages(
            f"where was {random.choice(NAMES)} born", passages, [str(random.choice(PLACES))]
        )


def of_tokens(ranker, query, passage, level):
    """Score one passage, and each of its sentences with its text."""
    if level == "sentence":
        parts = [Document(text, passage.title) for text in SENTENCE_END.split(passage.text)]
        own = [
            (ranker.rank(query, [part], Granularity.PASSAGE)[0].score, part.text) for part in parts
        ]
        return max(own)[0], own
    own = [
        (hit.score, hit.unit.text) for hit in ranker.rank(query, [passage], Granularity.SENTENCE)
    ]
    return ranker.rank(query, [passage], Granularity.PASSAGE)[0].score, own


def of_texts(encoder, query, passage, level):
    """Do the same by one vector each; where passages are encoded, no sentence has a score."""
    texts = SENTENCE_END.split(passage.text) if level == "sentence" else [passage.text]
    vectors = encoder.encode_units([f"{passage.title}: {text}" for text in texts])
    own = [
        (float(encoder.encode_queries([query])[0] @ vector), text)
        for vector, text in zip(vectors, texts, strict=True)
    ]
    return max(own)[0], own if level == "sentence" else []


def shares(rankings, answers):
    """P@1 and R@5 of texts with scores, by sorting and looking for the answer."""
    best = [
        [answer in text for _, text in sorted(rows)[:-6:-1]]
        for rows, answer in zip(rankings, answers, strict=True)
    ]
    return [
        np.mean([relevant[0] for relevant in best]),
        np.mean([any(relevant) for relevant in best]),
    ]


@pytest.mark.parametrize(
    ("model", "score"),
    [(AnyGranularityRanker(TextVectors(), alpha=0.3), of_tokens), (TextEncoder(), of_texts)],
    ids=["tokens", "texts"],
)
def test_against_one_text_at_a_time(model, score):
    asked = list(questions(1))
    answers = [question.answers[0] for question in asked]
    rows = score_levels(model, asked)
    assert [(row.encoding, row.questions) for row in rows] == [("sentence", 12), ("passage", 12)]
    for row in rows:
        scored = [
            [(*score(model, each.query, part, row.encoding), part) for part in each.passages]
            for each in asked
        ]
        of_passages = [[(around, part.text) for around, _, part in parts] for parts in scored]
        assert [row.passage_p1, row.passage_r5] == pytest.approx(shares(of_passages, answers))
        of_sentences = [[pair for _, own, _ in parts for pair in own] for parts in scored]
        expected = pytest.approx(shares(of_sentences, answers)) if of_sentences[0] else [None, None]
        assert [row.sentence_p1, row.sentence_r5] == expected


def test_what_makes_a_text_relevant():
    asked = [AskedPassages("who went to the party", [Document("They went to the party.")], ["art"])]
    ranker = AnyGranularityRanker(WordVectors())
    assert [row.sentence_p1 for row in score_levels(ranker, asked)] == [0, 0]
    assert [
        row.sentence_p1 for row in score_levels(ranker, asked, has_answer=has_answer_normalized)
    ] == [1, 1]


def test_passages_without_a_sentence_are_ranked_as_passages_alone():
    asked = [AskedPassages("where is oslo", [Document("..."), Document("Oslo is old.")], ["old"])]
    for row in score_levels(AnyGranularityRanker(WordVectors()), asked):
        assert (row.sentence_p1, row.passage_r5) == (1, 1)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ([AskedPassages("where", [], ["x"])], "expected passages to rank, got none for 'where'"),
        ([], "at least one"),
        ([AskedPassages("where", [Document("Here.")], [])], "at least one answer"),
    ],
)
def test_bad_input(asked, problem):
    with pytest.raises(InvalidInputError, match=problem):
        score_levels(HashEncoder(), asked)
