"""A passage that nobody cut any finer is found at every granularity, whatever way it came in."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import Document, UnitStore, Weights
from factoid.store import GRANULARITIES
from factoid.store.document_units import own_children
from factoid.store.indexes.compared import compared_units
from factoid.testing import HashEncoder
from factoid.units import Granularity, Hit, Unit
from tests.store.content import put, unit

pytest.importorskip("faiss")

PASSAGE, SENTENCE, PROPOSITION = Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION
CAT = "The office cat is called Maurice."
TEXTS = [
    "The tower leans. It is of stone.",
    "The ship sank. It was new.",
    "The river is long. It is cold.",
]
EVERY = [None, "passage", "sentence", "proposition", "mixed", ["sentence", "proposition"]]
LEVELS = ["passage", "unit"]


def passage(text, own="cat"):
    return Unit("", text, PASSAGE, own, own, 0, len(text))


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as opened:
        opened.add_documents(Document(text) for text in TEXTS)
        yield opened


def texts(hits):
    return [hit.unit.text for hit in hits]


@pytest.mark.parametrize("granularity", EVERY)
def test_an_added_passage_is_found_and_k_is_k(store, granularity):
    store.add([passage(CAT)])
    for lexical in (0, None):
        hits = store.search(
            "What is the cat called?", k=4, granularity=granularity, lexical=lexical
        )
        assert texts(hits)[0] == CAT
        assert len({hit.unit.id for hit in hits}) == 4
        assert [match.unit.text for match in hits[0].matches] == [CAT]
    units = store.search("What is the cat called?", k=50, granularity=granularity, parents="unit")
    assert texts(units).count(CAT) == 1
    assert len({hit.unit.id for hit in units}) == len(units)


@pytest.mark.parametrize("granularity", EVERY)
def test_its_score_is_that_of_a_passage_with_itself_as_its_only_unit(store, granularity):
    """The same as `add_documents` gives a text that cannot be cut."""
    lone = passage(CAT)
    cut = passage(CAT, "other")
    store.add([lone])
    store.add([cut, *own_children(cut, store.granularities)])
    hits = store.search("What is the cat called?", k=2, granularity=granularity)
    alone, twin = sorted(hits, key=lambda hit: [lone.id, cut.id].index(hit.unit.id))
    assert alone.score == pytest.approx(twin.score, abs=1e-6)


def test_a_passage_without_propositions_is_found_by_its_sentences(store):
    above = passage(f"{CAT} It sleeps.")
    sentences = [
        Unit(text, text, SENTENCE, "cat", above.id, at, at + len(text))
        for at, text in ((0, CAT), (34, "It sleeps."))
    ]
    store.add([above, *sentences])
    [hit] = store.search("What is the cat called?", k=1, granularity="proposition")
    assert (hit.unit, hit.matches[0].unit) == (above, sentences[0])
    [both] = store.search("What is the cat called?", k=1, granularity=["sentence", "proposition"])
    assert [match.unit for match in both.matches] == sentences  # each once


class ByLength:
    """A reranker that puts shorter units first."""

    def rank(self, query, passages, granularity, *, k=None, parents="unit", units=None):
        hits = [Hit(unit, -float(len(unit.text))) for under in units for unit in under]
        return sorted(hits, key=lambda hit: -hit.score)[:k]


def test_a_reranker_ranks_what_a_search_compares(store):
    """The sentences of a passage without propositions, and not the passage as a whole."""
    above = passage(f"{CAT} It sleeps.")
    sentences = [
        Unit(text, text, SENTENCE, "cat", above.id, at, at + len(text))
        for at, text in ((0, CAT), (34, "It sleeps."))
    ]
    store.add([above, *sentences])
    options = {"k": 50, "granularity": "proposition", "parents": "unit"}
    plain = store.search("What is the cat called?", **options)
    ranked = store.search("What is the cat called?", rerank=ByLength(), candidates=50, **options)
    assert {hit.unit.id for hit in ranked} == {hit.unit.id for hit in plain}
    assert set(sentences) <= {hit.unit for hit in ranked}
    condition = {"kind": "none"}
    assert (
        store.search("What is the cat called?", rerank=ByLength(), filter=condition, **options)
        == []
    )


def test_sentences_without_a_passage_are_found_beside_propositions(store):
    alone = Unit("alone", CAT, SENTENCE, "cat", "cat", 0, len(CAT))
    store.add([alone])
    assert store.search("What is the cat called?", k=1)[0].unit == alone
    fact = Unit("fact", "Maurice is a cat.", PROPOSITION, "cat", "cat", 0, len(CAT))
    store.add([fact])  # now it is known how this document is cut
    assert [hit.unit for hit in store.search("What is the cat called?", k=9, lexical=0)].count(
        alone
    ) == 0


@pytest.mark.parametrize(
    "granularities", [("proposition",), ("sentence",), ("passage", "sentence")]
)
def test_a_store_that_embeds_less_finds_it_too(granularities):
    with UnitStore(encoder=HashEncoder(), granularities=granularities) as store:
        store.add_documents(Document(text) for text in TEXTS)
        before = len(store.vectors(store.ids()))
        store.add([passage(CAT), Unit("orphan", "A dog barks.", SENTENCE, "dog", "dog", 0, 12)])
        assert len(store.vectors(store.ids())) == before + 2
        assert texts(store.search("cat called Maurice", k=5))[0] == CAT
        assert texts(store.search("dog", k=5))[0] == "A dog barks."
        assert len(store.search("cat", k=5)) == 5


def test_units_under_a_passage_are_not_embedded_twice():
    with UnitStore(encoder=HashEncoder(), granularities=["proposition"]) as store:
        above = passage(CAT)
        store.add([above, Unit("fact", "Maurice is a cat.", PROPOSITION, "cat", above.id, 0, 9)])
        assert list(store.vectors(store.ids())) == ["fact"]


def test_documents_from_a_time_of_other_granularities_stay_found(tmp_path):
    path = tmp_path / "store"
    for granularities, text in zip(
        (["passage"], ["sentence"], ["proposition"]), TEXTS, strict=True
    ):
        with UnitStore(path, encoder=HashEncoder(), granularities=granularities) as store:
            store.add_documents([Document(text)])
    with UnitStore(path, encoder=HashEncoder(), granularities=None) as store:
        assert sorted(texts(store.search("tower ship river"))) == sorted(TEXTS)
        assert sorted(texts(store.search("tower ship river", granularity="sentence"))) == sorted(
            TEXTS
        )


def test_what_is_compared_follows_every_change(tmp_path):
    """Indexes that are held follow the store as one that is built anew."""
    above = passage(CAT)
    fact = Unit("fact", "Maurice is a cat.", PROPOSITION, "cat", above.id, 0, 9)
    with UnitStore(tmp_path / "store", encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents(Document(text) for text in TEXTS)
        reader = UnitStore(
            tmp_path / "store", encoder=HashEncoder(), read_only=True, granularities=GRANULARITIES
        )
        changes = [
            (lambda: store.add([above]), [above]),
            (lambda: store.add([fact]), [fact]),
            (lambda: store.delete(unit_ids=["fact"]), [above]),
            (lambda: store.add([above, fact]), [fact]),
            (lambda: store.update_metadata({"year": 1}, document_ids=["cat"]), [fact]),
            (lambda: store.add([above]), [above]),  # with all under it
            (lambda: store.add([fact]), [fact]),
            (lambda: store.delete(unit_ids=[above.id]), []),
            (lambda: store.add([fact]), [fact]),  # without its passage
            (lambda: store.add([above], keep_children=True), [fact]),
        ]
        for change, matched in changes:
            change()
            for opened in (store, reader):
                found = [
                    hit
                    for hit in opened.search("Maurice cat", k=9)
                    if hit.unit.document_id == "cat"
                ]
                assert [(hit.matches or (hit,))[0].unit.id for hit in found] == [
                    unit.id for unit in matched
                ]
                with opened.opened.connections.reading() as snapshot:
                    state = opened.opened.indexes.states[PROPOSITION]
                    assert np.array_equal(
                        state.columns.stacked(), compared_units(snapshot, PROPOSITION).stacked()
                    )
        reader.close()
        assert store.verify() == []


def test_a_filter_and_ids_choose_it_like_any_unit(store):
    store.add([Unit("cat", CAT, PASSAGE, "doc", "doc", 0, 9, metadata={"tenant": "north"})])
    assert texts(store.search("tower", filter={"tenant": "north"})) == [CAT]
    assert texts(store.search("tower", unit_ids=["cat"])) == [CAT]
    assert texts(store.search("tower", document_ids=["doc"])) == [CAT]
    assert CAT not in texts(store.search("cat", k=9, filter={"tenant": {"$ne": "north"}}))


def test_without_a_vector_it_is_stored_and_not_found():
    with UnitStore(encoder=None) as store:
        put(
            store,
            [unit("p", kind="passage"), unit("q", kind="passage", vector=np.ones(8, np.float32))],
        )
        hits = store.search_by_vector(
            np.ones(8), k=9, granularity="proposition", weights=Weights(0, 0)
        )
        assert [hit.unit.id for hit in hits] == ["q"]
