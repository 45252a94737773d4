from __future__ import annotations

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


class TextEncoder:
    """Random vectors by text, so that no scores are equal by chance."""

    def encode_units(self, texts):
        return np.array([np.random.default_rng([*text.encode()]).normal(size=8) for text in texts], np.float32)

    encode_queries = encode_units


def questions(seed):
    """Questions with more passages than R@5 looks at, in each of which sentences say where somebody was born."""
    random = np.random.default_rng(seed)
    for _ in range(12):
        passages = []
        for _ in range(random.integers(2, 9)):
            facts = [
                f"{str(random.choice(NAMES)).title()} was born in {random.choice(PLACES)}."
                for _ in range(random.integers(1, 5))
            ]
            passages.append(Document(" ".join(facts), title=f"Page {random.integers(9)}"))
        yield AskedPassages(f"where was {random.choice(NAMES)} born", passages, [str(random.choice(PLACES))])


def maxsim(query, vectors):
    return sum(max(float(np.float64(a) @ np.float64(b)) for b in vectors) for a in query)


def shares(rankings, answers):
    """P@1 and R@5 of texts with scores, by sorting and looking for the answer."""
    firsts, fives = [], []
    for ranked, answer in zip(rankings, answers, strict=True):
        texts = [text for _, text in sorted(ranked, key=lambda row: -row[0])]
        firsts.append(answer in texts[0])
        fives.append(any(answer in text for text in texts[:5]))
    return [np.mean(firsts), np.mean(fives)]


def cut(text):
    """Sentences with their places."""
    start = 0
    for sentence in text.split(". "):
        yield sentence.rstrip(".") + ".", start, start + len(sentence.rstrip(".")) + 1
        start += len(sentence) + 2


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_late_interaction_against_single_products(alpha):
    encoder = TextVectors()
    asked = list(questions(0))
    answers = [question.answers[0] for question in asked]
    expected = {}
    for level in ("sentence", "passage"):
        of_sentences, of_passages = [], []
        for question in asked:
            coarse, finer = (encoder.encode_query(question.query, finer=side).vectors for side in (False, True))
            sentences, passages = [], []
            for passage in question.passages:
                if level == "sentence":
                    own = [
                        (maxsim(coarse, encoder.encode_passages([f"{passage.title}: {text}"])[0].vectors), text)
                        for text, _, _ in cut(passage.text)
                    ]
                    passages.append((max(score for score, _ in own), passage.text))
                else:
                    [tokens] = encoder.encode_passages([f"{passage.title}: {passage.text}"])
                    around = maxsim(coarse, tokens.vectors)
                    heading = len(passage.title) + 2
                    own = []
                    for text, start, end in cut(passage.text):
                        inside = [
                            vector
                            for vector, (first, last) in zip(tokens.vectors, tokens.spans - heading, strict=True)
                            if start <= first and last <= end and last > 0
                        ]
                        own.append((maxsim(finer, inside) + alpha * around, text))
                    passages.append((around, passage.text))
                sentences += own
            of_sentences.append(sentences)
            of_passages.append(passages)
        expected[level] = [*shares(of_sentences, answers), *shares(of_passages, answers)]
    rows = score_levels(AnyGranularityRanker(encoder, alpha=alpha), asked)
    assert [row.encoding for row in rows] == [Granularity.SENTENCE, Granularity.PASSAGE]
    for row in rows:
        figures = [row.sentence_p1, row.sentence_r5, row.passage_p1, row.passage_r5]
        assert figures == pytest.approx(expected[row.encoding])
        assert row.questions == len(asked)
    assert len({*map(tuple, expected.values())}) == 2


def test_single_vectors_against_their_products():
    encoder = TextEncoder()
    asked = list(questions(1))
    answers = [question.answers[0] for question in asked]

    def score(query, title, text):
        return float(encoder.encode_queries([query])[0] @ encoder.encode_units([f"{title}: {text}"])[0])

    sentences = [
        [(score(q.query, passage.title, text), text) for passage in q.passages for text, _, _ in cut(passage.text)]
        for q in asked
    ]
    best = [
        [
            (max(score(q.query, passage.title, text) for text, _, _ in cut(passage.text)), passage.text)
            for passage in q.passages
        ]
        for q in asked
    ]
    whole = [[(score(q.query, passage.title, passage.text), passage.text) for passage in q.passages] for q in asked]
    by_sentence, by_passage = score_levels(encoder, asked)
    assert [by_sentence.sentence_p1, by_sentence.sentence_r5] == pytest.approx(shares(sentences, answers))
    assert [by_sentence.passage_p1, by_sentence.passage_r5] == pytest.approx(shares(best, answers))
    assert [by_passage.passage_p1, by_passage.passage_r5] == pytest.approx(shares(whole, answers))
    assert (by_passage.sentence_p1, by_passage.sentence_r5) == (None, None)


def test_what_makes_a_text_relevant():
    asked = [AskedPassages("who went to the party", [Document("They went to the party.")], ["art"])]
    ranker = AnyGranularityRanker(WordVectors())
    assert [row.sentence_p1 for row in score_levels(ranker, asked)] == [0, 0]
    assert [row.sentence_p1 for row in score_levels(ranker, asked, has_answer=has_answer_normalized)] == [1, 1]


def test_passages_without_a_sentence_are_ranked_as_passages_alone():
    asked = [AskedPassages("where is oslo", [Document("..."), Document("Oslo is old.")], ["old"])]
    for row in score_levels(AnyGranularityRanker(WordVectors()), asked):
        assert (row.sentence_p1, row.passage_r5) == (1, 1)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="expected passages to rank, got none for 'where'"):
        score_levels(HashEncoder(), [AskedPassages("where", [], ["x"])])
    with pytest.raises(InvalidInputError, match="at least one"):
        score_levels(HashEncoder(), [])
    with pytest.raises(InvalidInputError, match="at least one answer"):
        score_levels(HashEncoder(), [AskedPassages("where", [Document("Here.")], [])])
