"""The store in memory and on disk: what is added is found, replaced, deleted and still there after opening again."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from factoid import Granularity, UnitStore
from factoid.errors import InvalidInputError, MissingDependencyError, StoreError
from factoid.propositions import NoPropositions, Report
from factoid.split import split_passages, split_sentences
from factoid.store import GRANULARITIES, AddReport
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.cities import OSLO, PISA, PROPOSITIONIZER, add, found

pytest.importorskip("faiss")


def test_documents_in_facts_out(store):
    report = add(store, PISA, OSLO)
    units = {"passage": 3, "sentence": 4, "proposition": 3}
    assert report == AddReport(
        documents=2, units=units, decomposition=Report(passages=3, propositions=3)
    )
    assert (store.counts(), len(store)) == (units, 10)
    (hit,) = store.search("Where was Galileo born?", k=1)
    assert hit.unit.text == "Galileo was born here."
    assert (hit.unit.title, hit.unit.section, hit.unit.metadata) == (
        "Pisa",
        "History",
        {"country": "it"},
    )
    assert hit.unit == split_passages(PISA)[1]
    assert [match.unit.text for match in hit.matches] == ["Pisa: Galileo was born here."]
    assert hit.matches[0].score == hit.parts["proposition"] > 0.5
    assert hit.parts["lexical"] > 0.5  # no other passage has the words
    (hit,) = store.search("Where was Galileo born?", k=1, granularity="sentence", parents="unit")
    assert hit.unit == split_sentences(split_passages(PISA)[1])[0]
    assert hit.matches == ()
    assert store.documents(["oslo"]) == [OSLO]
    assert store.documents(["nowhere"]) == []


def test_documents_with_their_own_vectors(store):
    add(store, PISA)
    vectors = dict(
        zip(("oslo", "pisa"), store.encoder.encode_units([OSLO.text, "another text"]), strict=True)
    )
    store.add_embedded([OSLO, PISA], vectors)
    assert store.counts() == {"passage": 2, "sentence": 2, "proposition": 2}
    assert {unit.text for unit in store.units_of(["oslo"])} == {OSLO.text}
    (hit,) = store.search_by_vector(vectors["oslo"], k=1)
    assert (hit.unit.text, [match.unit.text for match in hit.matches]) == (OSLO.text, [OSLO.text])
    with pytest.raises(InvalidInputError, match="no vector of the document 'pisa'"):
        store.add_embedded([OSLO, PISA], {"oslo": vectors["pisa"]})
    assert store.search_by_vector(vectors["oslo"], k=1)[0].score == hit.score


def test_adding_documents_again_changes_nothing(store):
    first = add(store, PISA, OSLO)
    rows = store.ids()
    calls = len(PROPOSITIONIZER.calls)
    assert add(store, PISA, OSLO, OSLO) == AddReport(documents=0, unchanged=2)
    assert (store.ids(), store.counts(), len(PROPOSITIONIZER.calls)) == (rows, first.units, calls)
    assert add(store, replace(OSLO, metadata=dict(OSLO.metadata))).unchanged == 1
    changed = replace(OSLO, text="Oslo lies at a fjord.")
    report = add(store, OSLO, changed)  # the later one wins
    assert (report.documents, report.unchanged) == (1, 0)


def test_a_changed_document_replaces_the_old_one_with_all_its_units(store):
    add(store, PISA, OSLO)
    changed = replace(PISA, text="# Pisa\n\nThe tower is white.")
    units = dict.fromkeys(["passage", "sentence", "proposition"], 1)
    assert add(store, changed, OSLO) == AddReport(1, 1, units, Report(1, 1))
    assert sorted(found(store, "tower Galileo")) == [
        "The city lies on a fjord.",
        "The tower is white.",
    ]
    assert store.documents(["pisa"]) == [changed]
    assert store.counts()[Granularity.SENTENCE] == 2
    assert not any(
        "Galileo" in text for text in found(store, "Galileo", granularity="mixed", parents="unit")
    )
    # New metadata is a change as well.
    assert add(store, replace(changed, metadata={"country": "IT"})).documents == 1
    assert store.search("tower", filter={"country": "it"}) == []


def test_another_recipe_indexes_again(store):
    assert add(store, PISA).documents == 1
    assert add(store, PISA, words=3, min_words=0).documents == 1
    assert store.counts()[Granularity.PASSAGE] == 3
    assert add(store, PISA, words=3, min_words=0).unchanged == 1
    other = ScriptedPropositionizer(lambda _: NoPropositions("refused"))
    other.name = "other"
    report = store.add_documents([PISA], propositionizer=other)
    assert (report.documents, report.decomposition.failures) == (1, {"refused": 2})
    assert "The tower leans." in found(store, "tower leans", parents="unit")


def test_of_equal_ids_in_one_call_the_last_document_counts(store, caplog):
    report = add(store, PISA, replace(OSLO, id="pisa"))
    assert (report.documents, store.documents(["pisa"])[0].text) == (1, OSLO.text)
    assert [record.message for record in caplog.records] == [
        "two documents have the id 'pisa': the later one replaces the other"
    ]
    add(store, replace(OSLO, id="oslo"), replace(OSLO, id="oslo"))
    assert len(caplog.records) == 1
    store.delete(["oslo"])
    assert store.counts()[Granularity.PASSAGE] == 1
    add(store, replace(PISA, id=""), replace(PISA, id=""))
    assert store.counts()[Granularity.PASSAGE] == 3


def test_documents_are_read_once_and_by_type(store):
    assert (
        store.add_documents(
            (document for document in (PISA, OSLO)), propositionizer=PROPOSITIONIZER
        ).documents
        == 2
    )
    with pytest.raises(InvalidInputError, match=r"expected factoid\.Document, got str"):
        store.add_documents(["text"], propositionizer=PROPOSITIONIZER)
    with pytest.raises(InvalidInputError, match="expected a list of documents, got a single one"):
        store.add_documents(PISA)
    assert store.add_documents([]) == AddReport()


def test_an_encoder_is_an_object():
    with pytest.raises(
        InvalidInputError, match=r"SentenceTransformerEncoder\('all-MiniLM-L6-v2'\)"
    ):
        UnitStore(encoder="all-MiniLM-L6-v2", granularities=GRANULARITIES)


def test_deleting_a_document_a_passage_or_a_single_unit(store):
    add(store, PISA, OSLO)
    leaning, galileo = split_passages(PISA)
    (fact,) = [hit.unit for hit in store.search("Galileo", k=1, parents="unit")]
    assert store.delete([fact.id]) == 1
    assert "Galileo was born here." in found(store, "Galileo", granularity="sentence")
    assert store.delete(unit_ids=["pisa", "nowhere"]) == 0
    assert store.delete([galileo.id, galileo.id, "nowhere", "\0", ""]) == 2
    assert "Galileo was born here." not in found(store, "Galileo", granularity="sentence")
    assert store.documents(["pisa"]) != []
    assert store.delete(["pisa"]) == 4
    assert store.documents(["pisa"]) == []
    assert store.get([leaning.id]) == []
    assert found(store, "tower") == ["The city lies on a fjord."]
    assert store.delete([]) == store.delete(["pisa"]) == 0
    with pytest.raises(
        InvalidInputError,
        match="or document_ids, unit_ids or a filter in its place, got ids='oslo'",
    ):
        store.delete("oslo")
    with pytest.raises(InvalidInputError, match="in its place, got none of them"):
        store.delete()
    store.delete(["oslo"])
    assert (len(store), found(store, "fjord")) == (0, [])
    assert add(store, PISA).documents == 1
    assert found(store, "Galileo", k=1) == ["Galileo was born here."]


def test_clearing_frees_the_store_for_another_encoder(store):
    add(store, PISA)
    assert found(store, "tower") != []
    store.clear()
    assert (len(store), store.search("tower"), store.documents(["pisa"])) == (0, [], [])
    store.encoder = HashEncoder(8)
    add(store, OSLO)
    assert found(store, "fjord", k=1) == ["The city lies on a fjord."]


def test_searching_an_empty_store(store):
    assert store.search("anything", k=3) == []
    assert store.search("anything", k=3, granularity="passage", filter={"a": 1}) == []
    assert (store.counts(), len(store)) == ({}, 0)
    assert (store.ids(), store.get(["a"]), store.vectors(["a"])) == ([], [], {})


def test_filters_reach_documents_metadata(store):
    add(store, PISA, OSLO)
    assert found(store, "tower", filter={"country": "no"}) == ["The city lies on a fjord."]
    assert found(store, "tower", filter=lambda metadata: metadata["country"] == "xx") == []
    assert len(store.ids({"country": "no"})) == 3
    # A callable may ask the store itself, in the middle of a search.
    assert (
        len(
            found(
                store, "tower", filter=lambda metadata: bool(store.search("fjord", filter=metadata))
            )
        )
        == 3
    )


def test_granularities_that_are_not_searched(path):
    with UnitStore(path, encoder=HashEncoder(), granularities=["sentence"]) as store:
        report = store.add_documents([PISA])
        assert report.units == {
            Granularity.PASSAGE: 2,
            Granularity.SENTENCE: 3,
            Granularity.PROPOSITION: 0,
        }
        (hit,) = store.search("Galileo", k=1, granularity="sentence")
        assert hit.unit == split_passages(PISA)[1]
        for granularity in ("proposition", "passage"):
            with pytest.raises(
                InvalidInputError, match=f"searches sentence: it has no index of {granularity}s"
            ):
                store.search("Galileo", granularity=granularity)
        assert store.search("Galileo", k=1) == store.search("Galileo", k=1, granularity="sentence")


def test_a_closed_store_says_so(store):
    add(store, PISA)
    store.close()
    store.close()
    calls = {
        "search": "x",
        "add_documents": [OSLO],
        "add": [],
        "delete": ["pisa"],
        "get": ["a"],
        "ids": None,
    }
    calls |= {
        "export": "facts.jsonl",
        "copy_to": "copy",
        "save_to": "memory://facts",
        "merge": "other",
    }
    for name, argument in {
        **calls,
        **dict.fromkeys(("clear", "compact", "verify", "retry_failures")),
    }.items():
        with pytest.raises(StoreError, match="the store is closed: open it again"):
            getattr(store, name)(*([] if argument is None else [argument]))


def test_without_faiss_documents_are_added_and_searches_carry_the_pip_line(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert add(store, PISA).documents == 1
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[cpu\]"'):
        store.search("tower")
