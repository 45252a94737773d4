from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document
from factoid.entities.linkers.annotated import AnnotatedLinker
from factoid.entities.mention import BatchEntityLinker, Mention
from factoid.entities.prompts import normalize_question
from factoid.errors import InvalidInputError


def spans(text, titles):
    return [(text[m.start : m.end], m.title) for m in AnnotatedLinker({text: titles}).link(text)]


@pytest.mark.parametrize(
    ("text", "titles", "expected"),
    [
        ("Where is Paris?", "Paris", [("Paris", "Paris")]),
        ("Where is paris?", "Paris", [("paris", "Paris")]),
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
        ("Is Rome in Italy?", ("Rome", "Rome"), [("Rome", "Rome")]),
        ("東京はどこ", ["東京"], [("東京", "東京")]),
        ("Is it here?", "iPhone", [("Is it here?", "IPhone")]),
        ("Is it here?", [], []),
        ("Is it here?", None, []),
        ("Is it here?", " ", []),
        ("", "Paris", []),
    ],
)
def test_titles(text, titles, expected):
    assert spans(text, titles) == expected


def test_mentions_stay_as_they_are():
    given = Mention(10, 12, "Rome", 0.5)
    assert AnnotatedLinker({"Is it far to Rome?": [given]}).link("Is it far to Rome?") == [given]
    with pytest.raises(InvalidInputError, match=r"\[10, 12\) of 'Rome' ends after"):
        AnnotatedLinker({"Is it": given}).link("Is it")


def test_questions_that_are_not_known():
    linker = AnnotatedLinker({"Where  is\nPar\u0131s?": "Paris"})
    assert linker.link("Where is Rome?") == []
    assert [mention.title for mention in linker.link(" Where is Par\u0131s? ")] == ["Paris"]


@pytest.mark.parametrize(
    "form", ["did Lincoln sign it?", "did lincoln sign it?", "Did Lincoln sign it", "DID LINCOLN SIGN IT ?"]
)
def test_other_forms_of_a_question(form):
    linker = AnnotatedLinker({"Did Lincoln sign it?": "Abraham Lincoln"})
    assert [mention.title for mention in linker.link(form)] == ["Abraham Lincoln"]
    assert linker.link("Did Lincoln sign it all?") == []


@given(st.text(alphabet="aBé?! \u0130ß", min_size=1))
def test_the_papers_form_of_a_question(question):
    linker = AnnotatedLinker({question: "Rome"})
    form = normalize_question(question)
    assert bool(linker.link(form)) == bool(form)


def test_the_form_as_given_goes_first():
    linker = AnnotatedLinker({"Is it may?": "Modal verb", "Is it May?": "May", "Is it MAY?": ["May", "MAY (code)"]})
    assert [mention.title for mention in linker.link("Is it May?")] == ["May"]
    assert {mention.title for mention in linker.link("is it May")} == {"Modal verb", "May", "MAY (code)"}


def test_functions():
    linker = AnnotatedLinker(lambda text: [word.strip("?") for word in text.split() if word[0].isupper()][1:])
    assert [mention.title for mention in linker.link("Is Rome in Italy?")] == ["Rome", "Italy"]
    assert isinstance(linker, BatchEntityLinker)
    assert [len(mentions) for mentions in linker.link_batch(["Is Rome?", "", "Is A in B?"])] == [1, 0, 2]


def test_records():
    records = [
        {"question": "Is Rome in Italy?", "title": "Rome"},
        {"question": "Is Rome in Italy?", "title": ["Italy"]},
        {"question": "Who?", "other": 3},
        Document("Where is Oslo?", metadata={"title": "Oslo"}),
        Document("Where is it?"),
    ]
    linker = AnnotatedLinker.from_records(records)
    assert [m.title for m in linker.link("Is Rome in Italy?")] == ["Rome", "Italy"]
    assert [m.title for m in linker.link("Where is Oslo?")] == ["Oslo"]
    assert linker.link("Who?") == linker.link("Where is it?") == []
    named = AnnotatedLinker.from_records([{"q": "Is it Oslo?", "e": "Oslo"}], question="q", titles="e")
    assert [m.title for m in named.link("Is it Oslo?")] == ["Oslo"]


def test_what_cannot_be():
    with pytest.raises(InvalidInputError, match="record 2 has no question in its field 'question'"):
        AnnotatedLinker.from_records([{"question": "a"}, {"query": "b"}])
    with pytest.raises(
        InvalidInputError, match=r"no record has the field 'title': their fields are \['entity', 'question'\]"
    ):
        AnnotatedLinker.from_records([{"question": "a", "entity": "A"}, {"question": "b"}])
    assert AnnotatedLinker.from_records([]).link("a") == []
    with pytest.raises(InvalidInputError, match="from_records"):
        AnnotatedLinker([("a", "b")])
    with pytest.raises(InvalidInputError, match="titles or mentions, got 3"):
        AnnotatedLinker({"a": 3}).link("a")
    with pytest.raises(InvalidInputError, match="titles or mentions"):
        AnnotatedLinker.from_records([{"question": "a", "title": {"b": "c"}}])
