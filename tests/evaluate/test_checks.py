from __future__ import annotations

import pytest

from factoid import Document
from factoid.evaluate.checks import check_questions, check_truncation
from factoid.evaluate.gold import GoldFinder
from factoid.evaluate.questions import Question, Quote
from factoid.testing import HashEncoder

TEXTS = [
    f"Ship {n} was built by master {n} in the year {1600 + n}, of oak and pine." for n in range(40)
]
DOCUMENTS = [Document(text, title=f"Ship {n}") for n, text in enumerate(TEXTS)]


def doubts(questions, documents=DOCUMENTS, passages=400):
    finder = GoldFinder(documents)
    return {
        check.name: check
        for check in check_questions(
            questions, [finder.find(question) for question in questions], documents, passages
        )
    }


def asked(count, **fields):
    return [
        Question(
            text=f"Who made vessel {n}?",
            quotes=(Quote(f"master {n} in the year {1600 + n}"),),
            **fields,
        )
        for n in range(count)
    ]


def test_good_questions_say_what_they_can_show():
    found = doubts(asked(40))
    assert list(found) == ["smallest difference"]
    assert "from about 20 points on" in found["smallest difference"].message


def test_quotes_that_no_result_can_hold():
    long = Document("It sank. " * 100, id="long")
    found = doubts(
        [*asked(30), Question(text="Why?", quotes=(Quote(long.text, "long"),))], [*DOCUMENTS, long]
    )
    assert "1 questions have quotes of more than 120 words" in found["long quotes"].message
    assert not found["long quotes"].is_serious


@pytest.mark.parametrize(
    ("name", "questions", "passages", "part"),
    [
        ("few questions", asked(12), 400, "12 questions are few"),
        (
            "gold not found",
            [*asked(40), Question(text="Why?", answers=("gold",))],
            400,
            "1 of 41 questions are left",
        ),
        ("one unit per document", asked(40), 40, "a single passage"),
        (
            "documents judged",
            [Question(text="Which?", documents=(f"Ship {n}",)) for n in range(40)],
            400,
            "add quotes",
        ),
        ("generated questions", asked(40, is_generated=True), 400, "written by a model"),
        (
            "few documents",
            [Question(text="Which?", documents=("Ship 1",))] * 40,
            400,
            "few documents (1)",
        ),
        (
            "copied questions",
            [
                Question(text=f"Ship {n} was built by master?", quotes=(Quote(TEXTS[n]),))
                for n in range(40)
            ],
            400,
            "40 questions repeat",
        ),
    ],
)
def test_each_doubt(name, questions, passages, part):
    assert part in doubts(questions, passages=passages)[name].message


class FirstWords(HashEncoder):
    """An encoder that reads so many words of a text."""

    def encode_units(self, texts):
        return super().encode_units([" ".join(text.split()[:20]) for text in texts])


def test_an_encoder_that_stops_reading_is_noticed():
    texts = [" ".join(f"word{n}" for n in range(length)) for length in range(1, 41)]
    [check] = check_truncation(FirstWords(), texts, "passages")
    assert "does not read 52.5 % of the passages" in check.message  # those of 20 words, and above
    assert check.is_serious
    assert check_truncation(HashEncoder(), texts, "passages") == []
    assert check_truncation(FirstWords(), [], "passages") == []
