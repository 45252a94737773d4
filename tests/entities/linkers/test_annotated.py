from __future__ import annotations

import pytest

from factoid.entities.linkers.annotated import AnnotatedLinker
from factoid.entities.mention import Mention


@pytest.mark.parametrize(
    ("text", "titles", "expected"),
    [
        (
            "Where is Parison, near PARIS?",
            "Paris",
            [("PARIS", "Paris")],
        ),  # whole words, in any case
        ("Is it C++?", "C++", [("C++", "C++")]),
        ("Did Lincoln sign it?", "Abraham_Lincoln", [("Did Lincoln sign it?", "Abraham Lincoln")]),
        (
            "Is Rome in Italy?",
            ["Italy", "Tiber", "Rome"],
            [("Rome", "Rome"), ("Italy", "Italy"), ("Is Rome in Italy?", "Tiber")],
        ),
        ("Is it here?", "iPhone", [("Is it here?", "IPhone")]),
        ("Is it here?", None, []),
        ("", "Paris", []),
    ],
)
def test_titles(text, titles, expected):
    for known in ({text: titles}, lambda _: titles):
        mentions = AnnotatedLinker(known).link(text)
        assert [
            (text[mention.start : mention.end], mention.title) for mention in mentions
        ] == expected


def test_mentions_stay_as_they_are():
    mention = Mention(10, 12, "Rome", 0.5)
    assert AnnotatedLinker({"Is it far to Rome?": [mention]}).link("Is it far to Rome?") == [
        mention
    ]


def test_forms_of_one_question_have_the_titles_of_all():
    linker = AnnotatedLinker(
        {"Is it may?": "Modal verb", "Is it May?": "May", "Is it MAY?": ["May", "MAY (code)"]}
    )
    for form in ("is it May", "Is  it\nmay", "IS IT MAY ?", "Is it May?"):
        assert {mention.title for mention in linker.link(form)} == {
            "May",
            "Modal verb",
            "MAY (code)",
        }
    assert linker.link("Is it May now?") == []
