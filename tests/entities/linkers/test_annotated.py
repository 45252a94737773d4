from __future__ import annotations

import pytest

from factoid.entities.linkers.annotated import AnnotatedLinker
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "titles", "expected"),
    [
        ("Is PARIS Paris?", ["Paris"], [("Paris", "Paris")]),  # as it is written goes first
        ("Where is Parison, near Paris?", "Paris", [("Paris", "Paris")]),  # whole words
        ("Is it Cafe\u0301 Mu\u0308ller?", "Café Müller", [("Cafe\u0301 Mu\u0308ller", "Café Müller")]),
        ("Who is Levi’s  owner?", "Levi's owner", [("Levi’s  owner", "Levi's owner")]),
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
        assert [(text[mention.start : mention.end], mention.title) for mention in mentions] == expected


def test_mentions_stay_as_they_are():
    mention = Mention(10, 12, "Rome", 0.5)
    assert AnnotatedLinker({"Is it far to Rome?": [mention]}).link("Is it far to Rome?") == [mention]
    with pytest.raises(InvalidInputError, match=r"Mention\(start=10, end=12, title='Rome'.* ends after"):
        AnnotatedLinker({"Is it": mention}).link("Is it")


def test_forms_of_one_question_have_the_titles_of_all():
    linker = AnnotatedLinker({"Is it may?": "Modal verb", "Is it May?": "May", "Is it MAY?": ["May", "MAY (code)"]})
    for form in ("is it May", "Is  it\nmay", "IS IT MAY ?", "Is it May?"):
        assert [mention.title for mention in linker.link(form)] == ["May", "Modal verb", "MAY (code)"]
    assert linker.link("Is it May now?") == []


def test_what_cannot_be():
    with pytest.raises(InvalidInputError, match="must map questions to titles"):
        AnnotatedLinker([("a", "b")])
    for annotation in (3, {"title": "A"}):
        with pytest.raises(InvalidInputError, match="titles or mentions, got"):
            AnnotatedLinker({"a": annotation})
