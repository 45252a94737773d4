"""Records and ids."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from uuid import UUID

import pytest

from factoid import Document, Granularity, Hit, Unit
from factoid.errors import InvalidInputError

# Ids that stores on disk hold: a change here makes every store index everything again.
PINNED_DOCUMENT = "c3ec2feb-cfc7-50e4-8720-ac75fb051a3d"
PINNED_UNIT = "b7297cda-546b-5067-a48a-8a2e918bfed1"


def unit(**changes):
    return replace(Unit("", "tower.", Granularity.SENTENCE, "d", "p", 3, 9), **{"id": ""} | changes)


def test_ids_are_the_same_in_every_process():
    code = (
        "from factoid import Document, Granularity; from factoid.units import Unit;"
        "print(Document('Pisa é 😀', 'T', 'S', metadata={'b': [1, None], 'a': 'x'}).id);"
        "print(Unit('', 'tower.', Granularity.SENTENCE, document_id='d', parent_id='p', start=3, end=9).id)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7"},
    )
    assert run.stdout.split() == [PINNED_DOCUMENT, PINNED_UNIT]
    assert (
        Document("Pisa é 😀", "T", "S", metadata={"a": "x", "b": [1, None]}).id == PINNED_DOCUMENT
    )
    assert unit().id == PINNED_UNIT
    assert UUID(PINNED_UNIT).version == 5


def test_a_documents_id_is_made_of_all_its_content():
    first = Document("text", "title", "section", metadata={"year": 1990})
    changes = (
        {"text": "texts"}, {"title": "titles"}, {"section": "sections"}, {"title": "titlesection", "section": ""},
        {"metadata": {"year": 1991}}, {"metadata": {"years": 1990}}, {"metadata": {}},
    )  # fmt: skip
    assert len({first.id, *(replace(first, id="", **change).id for change in changes)}) == 8
    assert Document("text", "title", "section", metadata={"year": 1990}) == first
    assert Document("text", id="mine").id == "mine"


def test_a_units_id_is_made_of_kind_document_span_and_text():
    changes = ({"document_id": "e"}, {"start": 2}, {"end": 10}, {"text": "towers."})
    others = [unit(granularity=Granularity.PROPOSITION), *(unit(**change) for change in changes)]
    assert len({other.id for other in [unit(), *others]}) == 6
    assert unit(parent_id="q", title="T", section="S", metadata={"a": 1}).id == unit().id


def test_records_are_hashable():
    document, passage = Document("text", metadata={"list": []}), unit()
    hit = Hit(passage, 0.5, (Hit(passage, 0.25),))
    assert (
        len(
            {
                document,
                Document("text", metadata={"list": []}),
                hit,
                Hit(passage, 0.5, (Hit(passage, 0.25),)),
            }
        )
        == 2
    )


def test_granularities_are_strings_with_a_helpful_error():
    assert [*Granularity] == ["document", "passage", "sentence", "proposition"]
    assert Granularity("passage") is Granularity.PASSAGE
    assert f"{Granularity.SENTENCE}s" == "sentences"
    for wrong in ("Passage", "word", "", None, 3):
        with pytest.raises(
            InvalidInputError,
            match=r"unknown granularity .*document, passage, sentence, proposition",
        ):
            Granularity(wrong)


@pytest.mark.parametrize("name", ["text", "title", "section", "id"])
def test_lone_surrogates_are_refused_and_the_hint_mends_them(name):
    with pytest.raises(
        InvalidInputError, match=f"{name} holds a lone surrogate, '.udc9f', at character 2"
    ) as caught:
        Document(**{"text": "x", name: "ab\udc9fd"})
    hint = str(caught.value).partition("Mend it with ")[2]
    assert eval(hint, {name: "ab\udc9fd"}) == "ab\ufffdd"
    for wrong in (None, b"bytes", 3, ["a"]):
        with pytest.raises(
            InvalidInputError, match=f"{name} must be a str, got {type(wrong).__name__}"
        ):
            Document(**{"text": "x", name: wrong})


def test_what_cannot_be_stored_is_refused():
    circle = {}
    circle["self"] = circle
    for fields, message in [
        ({"metadata": None}, "metadata must be a dict, got NoneType"),
        ({"metadata": [("a", 1)]}, "metadata must be a dict, got list"),
        ({"metadata": {1: "a", "b": 2}}, "keys must be strings"),
        ({"metadata": circle}, "metadata is nested more than 100 levels deep"),
        ({"id": "a\0b"}, "NUL byte"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            Document("x", **fields)
