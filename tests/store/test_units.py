"""Units and vectors given to a store one by one, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from factoid import Document, Granularity, UnitStore
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.split import split_passages, split_sentences
from factoid.testing import HashEncoder
from factoid.units import Unit
from tests.cities import OSLO, PISA, add, found

pytest.importorskip("faiss")


def test_everything_that_was_added_is_returned_as_it_was(store):
    odd = {"title": "T\0", "metadata": {"a": [1, None, {"b": 0.1}], "é": "\0"}}
    units = [*split_passages(PISA), *split_sentences(split_passages(PISA)[0])]
    units = [replace(unit, text=f"{unit.text} \0 😀 \u2028 'x' --", **odd) for unit in units]
    assert store.add(units) == [unit.id for unit in units]
    assert store.get([unit.id for unit in reversed(units)]) == units[::-1]
    assert store.get(["nowhere", units[1].id, "\0", "\ud800"]) == [units[1]]
    assert store.ids() == [unit.id for unit in units]
    vectors = store.vectors([units[0].id, "nowhere"])
    assert list(vectors) == [units[0].id]
    assert vectors[units[0].id].tolist() == HashEncoder().encode_units([units[0].text])[0].tolist()


def test_units_by_id_replace_each_other(store):
    passage, sentence = split_passages(OSLO)[0], split_sentences(split_passages(OSLO)[0])[0]
    store.add([passage, sentence])
    store.add([replace(sentence, text="The city is cold.")])
    assert found(store, "cold", granularity="sentence", parents="unit") == ["The city is cold."]
    assert store.counts() == {Granularity.PASSAGE: 1, Granularity.SENTENCE: 1}
    store.add([replace(passage, title="Kristiania")], keep_children=True)
    assert store.search("cold", granularity="sentence")[0].unit.title == "Kristiania"
    store.add([passage])  # replaced with all units under it
    assert store.counts() == {Granularity.PASSAGE: 1}


def test_units_may_come_before_their_passage(store):
    passage, sentence = split_passages(OSLO)[0], split_sentences(split_passages(OSLO)[0])[0]
    store.add([sentence])
    assert (
        store.search("fjord", granularity="sentence")[0].unit == sentence
    )  # its own parent so far
    store.add([passage])
    (hit,) = store.search("fjord", granularity="sentence")
    assert (hit.unit, hit.matches[0].unit) == (passage, sentence)


def test_a_store_without_encoder_takes_vectors(path):
    with UnitStore(path, encoder=None) as store:
        passage = split_passages(OSLO)[0]
        with pytest.raises(InvalidInputError, match="no encoder: give the vectors"):
            store.add([passage])
        with pytest.raises(InvalidInputError, match="no encoder"):
            add(store, OSLO)
        assert len(store) == 0
        store.add([passage, replace(passage, id="b")], vectors=[[1.0, 2.0], None])
        assert [hit.unit.id for hit in store.search_by_vector([1, 1], granularity="passage")] == [
            passage.id
        ]
        assert store.counts() == {Granularity.PASSAGE: 2}
        with pytest.raises(InvalidInputError, match="got 1 vectors for 2 units"):
            store.add([passage, passage], vectors=[[1.0, 2.0]])
        with pytest.raises(InvalidInputError, match="no encoder: use search_by_vector"):
            store.search("fjord")
        assert store.add([]) == []


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 2.0, 3.0]], "holds vectors of 2 dimensions, got 3"),
        ([[1.0, 2.0], [1.0, 2.0, 3.0]], "inhomogeneous"),
        ([[np.inf, 1.0]], "a vector is not finite"),
        ([[[1.0, 2.0]]], "expected one vector for each"),
        ([1.0], "expected one vector for each"),
    ],
)
def test_vectors_that_do_not_fit_leave_the_store_as_it_was(path, vectors, message):
    passage = split_passages(OSLO)[0]
    with UnitStore(path, encoder=None) as store:
        store.add([replace(passage, id="first")], vectors=[[3.0, 4.0]])
        with pytest.raises(EncoderMismatchError, match=message):
            store.add([passage, replace(passage, id="b")][: len(vectors)], vectors=vectors)
        assert store.ids() == ["first"]
        assert [hit.score for hit in store.search_by_vector([1, 1], granularity="passage")] == [7.0]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((4, 4)), r"one vector for each of 1 texts, of one dimension, got shape \(4, 4\)"),
        (np.zeros(3), r"got shape \(3,\)"),
        ([[1.0], [1.0, 2.0]], "of one dimension, got .* inhomogeneous"),
        (np.full((1, 4), np.nan), "not finite: the encoder failed"),
    ],
)
def test_an_encoder_that_breaks_its_promise(store, monkeypatch, vectors, message):
    monkeypatch.setattr(store.encoder, "encode_units", lambda _: vectors)
    with pytest.raises(EncoderMismatchError, match=message):
        add(store, OSLO)
    assert (len(store), store.documents(["oslo"])) == (0, [])


def test_a_text_at_several_granularities_is_encoded_once(store, monkeypatch):
    true, texts = store.encoder.encode_units, []
    monkeypatch.setattr(
        store.encoder, "encode_units", lambda given: texts.extend(given) or true(given)
    )
    add(store, OSLO)
    assert (len(store), len(texts)) == (3, 1)
    assert [len(store.search("fjord", granularity=kind)) for kind in store.granularities] == [
        1,
        1,
        1,
    ]


@pytest.mark.parametrize("value", [(1, 2), {1: "x"}, float("nan"), {"b": b"x"}, {1, 2}])
def test_metadata_that_json_would_change_is_refused(store, value):
    for metadata in ({"ok": 1, "a": value}, {1: value}):
        with pytest.raises(
            InvalidInputError, match=r"metadata .* would not come back from JSON unchanged"
        ):
            store.add([replace(split_passages(OSLO)[0], metadata=metadata)])
    with pytest.raises(InvalidInputError, match="would not come back"):
        add(store, Document("Some text.", metadata={"a": value}, id="d"))
    assert len(store) == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("a\ud800", "query holds a lone surrogate"),
        (None, "query must be a str"),
        (b"x", "got bytes"),
    ],
)
def test_a_query_that_is_no_text_is_refused(store, query, message):
    with pytest.raises(InvalidInputError, match=message):
        store.search(query)


def test_blank_units_are_kept_and_not_searched(store):
    blank = Unit("", " \n", Granularity.PASSAGE, document_id="d", parent_id="d", start=0, end=2)
    store.add([blank])
    assert (store.get([blank.id]), store.search("x", granularity="passage")) == ([blank], [])
