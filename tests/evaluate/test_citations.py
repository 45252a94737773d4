from __future__ import annotations

import hashlib
import json
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.evaluate.citations import (
    CitedText,
    mean_scores,
    read_cited,
    score_citations,
    score_gold,
    split_cited,
)

WORDS = ("alpha", "beta", "gamma", "delta")
PASSAGES = st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join), max_size=5)
CITED = st.lists(
    st.tuples(st.sampled_from(WORDS), st.lists(st.integers(-1, 5), max_size=5)), max_size=4
)


class Arbitrary:
    """Says yes to half of all pairs, whatever they say: more text may entail less."""

    def __init__(self):
        self.asked = []

    def entails(self, premises, hypotheses):
        self.asked.append(premises)
        pairs = zip(premises, hypotheses, strict=True)
        return [hashlib.sha256(repr(pair).encode()).digest()[0] % 2 == 1 for pair in pairs]


def by_the_definition(text: CitedText, model, most: int | None) -> tuple[float, float]:
    """Precision and recall of one answer in the order of ALCE's program: sentence by sentence, one
    question at a time.
    """

    def entails(references, sentence):
        return model.entails(["\n".join(text.passages[place] for place in references)], [sentence])[
            0
        ]

    supported, right, total = 0, 0, 0
    for sentence, places in zip(text.sentences, text.citations, strict=True):
        if not places or max(places) >= len(text.passages) or min(places) < 0:
            continue
        references = list(places)[:most]
        total += len(references)
        if not entails(references, sentence):
            continue
        supported += 1
        if len(references) == 1:
            right += 1
            continue
        for reference in references:
            if entails([reference], sentence):
                right += 1
                continue
            others = references.copy()
            others.remove(reference)
            if not entails(others, sentence):
                right += 1
    return (right / total if total else 0), supported / len(text.sentences)


@given(passages=PASSAGES, cited=CITED, most=st.sampled_from([None, 1, 2, 3]))
def test_against_a_loop_in_the_order_of_alce(passages, cited, most):
    text = CitedText([word for word, _ in cited], passages, [places for _, places in cited])
    [score] = score_citations([text], Arbitrary(), most_citations=most)
    if cited:
        assert (score.precision, score.recall) == pytest.approx(
            by_the_definition(text, Arbitrary(), most)
        )
    assert score.sentences == len(cited)


def test_the_model_is_asked_in_three_batches_and_reads_titles():
    model = Arbitrary()
    passages = [Document("alpha", "Letters"), *"bcdefghijkl"]
    score_citations(
        [CitedText(["a"], passages[number:], [[0, 1, 2]]) for number in range(9)], model
    )
    assert len(model.asked) == 3
    assert model.asked[0][0] == "Title: Letters\nalpha\nb\nc"
    assert score_citations([], model) == []


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 5)), st.none() | st.frozensets(st.integers(0, 5))),
        max_size=5,
    )
)
def test_gold_from_its_definition(rows):
    text = CitedText(
        ["x"] * len(rows), ["p"] * 6, [cited for cited, _ in rows], [gold for _, gold in rows]
    )
    [score] = score_gold([text])
    judged = [(cited, gold) for cited, gold in rows if gold is not None]
    pairs = {(row, place) for row, (cited, _) in enumerate(judged) for place in cited}
    right = {(row, place) for row, (_, gold) in enumerate(judged) for place in gold}
    shares = [
        sum((row, place) in pairs for place in gold) / len(gold)
        for row, (_, gold) in enumerate(judged)
        if gold
    ]
    assert score.recall == pytest.approx(statistics.mean(shares) if shares else 1)
    assert score.precision == pytest.approx(
        len(pairs & right) / len(pairs) if pairs else float(not right)
    )
    assert (score.sentences, score.citations) == (len(judged), len(pairs))


def test_means_are_over_answers_that_were_judged():
    texts = [
        CitedText(["a", "b"], ["p", "q"], [[0], [0, 1]], [[0], [1]]),
        CitedText(["a"], ["p"], [[]], [[0]]),
        CitedText(["a"], ["p"], [[0]], [None]),
    ]
    mean = mean_scores(score_gold(texts))
    assert mean.precision == pytest.approx((2 / 3 + 0) / 2)
    assert (mean.recall, mean.sentences, mean.citations) == (1 / 2, 3, 3)
    with pytest.raises(InvalidInputError, match="at least one answer"):
        mean_scores(score_gold(texts[2:]))


@pytest.mark.parametrize(
    ("answer", "sentences", "citations"),
    [
        ("Alpha beta [1]. Gamma [2][3].", ["Alpha beta.", "Gamma."], [[0], [1, 2]]),
        ("Alpha beta. [1] Gamma. [2]", ["Alpha beta.", "Gamma."], [[0], [1]]),
        ("Alpha [1, 2] beta [3]. [4]", ["Alpha beta."], [[0, 1, 2, 3]]),
        ("[1] Alpha. Then [0].", ["Alpha.", "Then."], [[0], [-1]]),
        ("Nothing is cited.", ["Nothing is cited."], [[]]),
        ("", [], []),
    ],
)
def test_markers(answer, sentences, citations):
    assert split_cited(answer) == (sentences, citations)


def test_files(tmp_path):
    path = tmp_path / "answers.jsonl"
    lines = [
        {
            "answer": "Alpha [1]. Beta.",
            "passages": ["p", {"text": "q", "title": "Q"}],
            "gold": [[1, 2], None],
        },
        {"sentences": ["Alpha. And so on [2].", "Beta"], "passages": ["p", "q"]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    first, second = read_cited(path)
    assert (first.sentences, first.citations, first.gold) == (
        ["Alpha.", "Beta."],
        [[0], []],
        [[0, 1], None],
    )
    assert first.passages == [Document("p"), Document("q", "Q")]
    assert (second.sentences, second.citations, second.gold) == (
        ["Alpha. And so on.", "Beta"],
        [[1], []],
        None,
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"passages": ["p"]}', 'expected an object with "answer" or "sentences"'),
        ('{"answer": 3, "passages": ["p"]}', "expected an object"),
        ('{"answer": "A.", "passages": [{"body": "p"}]}', "expected an object"),
        ('{"answer": "A.", "passages": ["p"], "gold": [["x"]]}', "expected an object"),
    ],
)
def test_lines_of_another_form(tmp_path, line, problem):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"answer": "A.", "passages": ["p"]}\n' + line, encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=rf"answers\.jsonl:2: {problem}"):
        list(read_cited(path))


def test_gold_citations_are_needed():
    with pytest.raises(InvalidInputError, match="expected gold citations, got none"):
        score_gold([CitedText(["a"], ["p"], [[0]])])
