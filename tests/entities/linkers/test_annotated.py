from __future__ import annotations

import pytest

from factoid.entities.linkers.annotated import AnnotatedLinker
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError


def spans(text, titles):
    return [(text[m.start : m.end], m.title) for m in AnnotatedLinker({text: titles}).link(text)]


@pytest.mark.parametrize(
    ("text", "titles", "expected"),
    [
        ("Where is Paris?", "Paris", [("Paris", "Paris")]),
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
    assert spans(text, titles) == expected


def test_mentions_stay_as_they_are():
    mention = Mention(10, 12, "Rome", 0.5)
    assert AnnotatedLinker({"Is it far to Rome?": [mention]}).link("Is it far to Rome?") == [mention]
    with pytest.raises(InvalidInputError, match=r"Mention\(start=10, end=12, title='Rome'.* ends after"):
        AnnotatedLinker({"Is it": mention}).link("Is it")


@pytest.mark.parametrize("form", ["did Lincoln sign it?", "Did  Lincoln\nsign it", "DID LINCOLN SIGN IT ?"])
def test_other_forms_of_a_question(form):
    linker = AnnotatedLinker({"Did Lincoln sign it?": "Abraham Lincoln"})
    assert [mention.title for mention in linker.link(form)] == ["Abraham Lincoln"]
    assert linker.link("Did Lincoln sign it all?") == []


def test_the_form_as_given_goes_first():
    linker = AnnotatedLinker({"Is it may?": "Modal verb", "Is it May?": "May", "Is it MAY?": ["May", "MAY (code)"]})
    assert [mention.title for mention in linker.link("Is it May?")] == ["May"]
    assert {mention.title for mention in linker.link("is it May")} == {"Modal verb", "May", "MAY (code)"}


def test_functions():
    linker = AnnotatedLinker(lambda text: [word.strip("?") for word in text.split() if word[0].isupper()][1:])
    assert [mention.title for mention in linker.link("Is Rome in Italy?")] == ["Rome", "Italy"]
    assert [len(mentions) for mentions in linker.link_batch(["Is Rome?", "", "Is A in B?"])] == [1, 0, 2]


def test_what_cannot_be():
    with pytest.raises(InvalidInputError, match="must map questions to titles"):
        AnnotatedLinker([("a", "b")])
    for annotation in (3, {"b": "c"}):
        with pytest.raises(InvalidInputError, match="titles or mentions, got"):
            AnnotatedLinker({"a": annotation}).link("a")
