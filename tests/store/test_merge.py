"""`UnitStore.merge`: the union of two stores, as dicts would have it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, UnitStore
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreFormatError
from factoid.propositions import NoPropositions, PropositionCache
from factoid.store.transfer import merge as merging
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.store.content import DIM, answers, filled, opened, put, state, unit, unordered


def by_id(store):
    """Return units by id, each with its vector."""
    found, vectors, _ = state(store)
    return {each.id: (each, vectors.get(each.id)) for each in found}


def scores(store):
    """Return the score of every unit: equal ones may come in another order, since rows are others."""
    return [
        {unit_id: round(score, 4) for unit_id, score in each} for each in answers(store, k=1000)
    ]


ZERO = dict.fromkeys(["units", "replaced", "deleted", "documents", "propositions"], 0)


@pytest.mark.parametrize("where", ["folder", "store", "memory"])
def test_an_empty_store_becomes_the_other(tmp_path, where):
    with (
        filled(None if where == "memory" else tmp_path / "a") as other,
        opened(tmp_path / "b") as store,
    ):
        counts = store.merge(tmp_path / "a" if where == "folder" else other, progress=True)
        assert counts == ZERO | {"units": len(other), "documents": 3}
        assert unordered(state(store)) == unordered(state(other))
        assert scores(store) == scores(other)
        assert store.verify() == []
        assert store.stats()["encoder"] == "numbers"
        assert store.merge(other) == ZERO | {
            "replaced": 60
        }  # units without a digest; the two documents are unchanged
        assert store.merge(other, keep=True) == ZERO
        assert unordered(state(store)) == unordered(state(other))
    before = state(store := opened(tmp_path / "b"))
    with store:  # adding the documents finds them unchanged
        filled(tmp_path / "b", 0).close()
        assert state(store) == before


drawn = st.builds(
    lambda own, text, document, number: unit(
        own, text, document=document, vector=number and np.full(DIM, number, "f4")
    ),
    st.sampled_from("abcdef"),
    st.sampled_from(["x", "y"]),
    st.sampled_from(["d", "e"]),
    st.sampled_from([None, 1, 2]),
)
small = st.lists(drawn, max_size=6, unique_by=lambda pair: pair[0].id)


@settings(deadline=None, max_examples=60)
@given(mine=small, theirs=small, block=st.sampled_from([1, 2, 1000]), keep=st.booleans())
def test_documents_are_the_union_of_two_dicts(mine, theirs, block, keep):
    with pytest.MonkeyPatch.context() as patch, opened(None) as store, opened(None) as other:
        patch.setattr(merging, "_BLOCK", block)
        put(store, mine)
        put(other, theirs)
        own, added = by_id(store), by_id(other)
        documents = {each.document_id for each, _ in added.values()}
        taken = {
            unit_id: pair
            for unit_id, pair in own.items()
            if unit_id in added
            and pair[0].document_id not in {added[unit_id][0].document_id, *documents}
        }
        if taken and not keep:  # units of documents that the other store does not have
            with pytest.raises(InvalidInputError, match="has the id of a unit of document"):
                store.merge(other)
            assert taken.items() <= by_id(store).items()
            assert store.verify() == []
            return
        counts = store.merge(other, keep=keep)
        loser, winner = (added, own) if keep else (own, added)
        won = {each.document_id for each, _ in winner.values()}
        expected = {
            key: pair for key, pair in loser.items() if pair[0].document_id not in won
        } | winner
        assert by_id(store) == expected
        assert by_id(other) == added
        counted = ZERO | {
            "units": len(expected.keys() - own.keys()),
            "replaced": 0 if keep else len(own.keys() & added.keys()),
            "deleted": len(own.keys() - expected.keys()),
        }
        # A unit that changes its document in a later block was deleted and is added, not replaced.
        moved = counts["deleted"] - counted["deleted"]
        assert moved == 0 or (block < 1000 and moved > 0)
        counted["units"] += moved
        counted["replaced"] -= moved
        counted["deleted"] += moved
        assert counts == counted
        assert store.verify() == []


SCRIPT = ScriptedPropositionizer(lambda passage: [passage.text])


def documents(store, *texts):
    store.add_documents([Document(text, id=own) for own, text in texts], propositionizer=SCRIPT)


@pytest.mark.parametrize("keep", [False, True])
def test_a_document_that_differs_is_taken_or_left_with_all_its_units(keep):
    with opened(None) as store, opened(None) as other, opened(None) as expected:
        documents(
            store,
            ("one", "The old text. It had two sentences."),
            ("both", "Same."),
            ("mine", "Mine."),
        )
        documents(other, ("one", "The new text."), ("both", "Same."), ("theirs", "Theirs."))
        counts = store.merge(other, keep=keep)
        text = "The old text. It had two sentences." if keep else "The new text."
        documents(
            expected, ("one", text), ("both", "Same."), ("mine", "Mine."), ("theirs", "Theirs.")
        )
        assert unordered(state(store)) == unordered(state(expected))
        news = {"units": 3, "documents": 1} if keep else {"units": 6, "deleted": 4, "documents": 2}
        assert counts == ZERO | news
        assert store.verify() == []


def test_a_merge_that_was_interrupted_can_be_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "_BLOCK", 5)
    with filled(tmp_path / "a", 90) as other, opened(tmp_path / "b") as store:
        documents(store, ("tower", "Another text."))
        add, left = merging._put, iter(range(4))

        def adding(*given, **options):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return add(*given, **options)

        with monkeypatch.context() as patch:
            patch.setattr(merging, "_put", adding)
            with pytest.raises(KeyboardInterrupt):
                store.merge(other)
        assert store.verify() == []
        assert 0 < len(store) < len(other)
        store.merge(other)
        assert unordered(state(store)) == unordered(state(other))
        assert scores(store) == scores(other)


def test_half_and_full_precision_go_together():
    with filled(dtype="float16") as other, opened(None) as store:
        store.merge(other)
        assert scores(store) == scores(other)


@pytest.mark.parametrize(
    ("options", "dim", "message"),
    [
        ({"encoder": HashEncoder(DIM)}, DIM, "built with the encoder 'HashEncoder(8)'"),
        (
            {"encoder": None, "similarity": "cosine"},
            DIM,
            "by cosine and the other by inner_product",
        ),
        ({"encoder": None}, 3, f"the dim 3, and the other one with {DIM}"),
    ],
)
def test_vectors_that_do_not_go_together_are_refused(options, dim, message):
    with filled() as other, UnitStore(**options) as store:
        store.add([unit("x")[0]], vectors=[np.ones(dim)])
        with pytest.raises(EncoderMismatchError, match=re.escape(message)):
            store.merge(other)
        assert store.ids() == ["x"]


def test_what_cannot_be_merged(folder, tmp_path):
    with opened(folder) as store:
        for other in (store, folder):
            with pytest.raises(InvalidInputError, match="cannot be merged into itself"):
                store.merge(other)
        with pytest.raises(StoreFormatError, match="there is no store at"):
            store.merge(tmp_path / "b")
        assert not (tmp_path / "b").exists()


def costly(path, script):
    propositionizer = ScriptedPropositionizer(lambda passage: script[passage.text])
    propositionizer.costly = True
    with opened(path) as store:
        store.add_documents(map(Document, script), propositionizer=propositionizer)


def cached(path):
    cache = PropositionCache(path)
    return cache.count(), cache.count(failures=True)


def test_what_models_said_is_merged_and_answers_beat_failures(tmp_path):
    costly(tmp_path / "a", {"Text 1.": ["One."], "Text 2.": NoPropositions("time-out")})
    costly(
        tmp_path / "b",
        {"Text 2.": ["Two."], "Text 1.": NoPropositions("time-out"), "Text 3.": ["Three."]},
    )
    with opened(tmp_path / "a") as store:
        assert store.merge(tmp_path / "b")["propositions"] == 2
    assert cached(tmp_path / "a") == (3, 0)
    filled(tmp_path / "c").close()
    with opened(tmp_path / "c") as store:  # one that had no cache yet
        assert store.merge(tmp_path / "a")["propositions"] == 3
        assert store.merge(tmp_path / "a")["propositions"] == 0
    assert cached(tmp_path / "c") == (3, 0)
