"""Search and roll-up against brute force: the k best distinct parents, and the units that made them so."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, Granularity, UnitStore, Weights
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Unit
from tests.store.content import compared

pytest.importorskip("faiss")

PASSAGE, SENTENCE, PROPOSITION = Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION


def passage(number, **metadata):
    document = f"d{number % 3}"
    return Unit(
        f"p{number}", f"passage {number}", PASSAGE, document, document, 0, 9, metadata=metadata
    )


def child(parent, number, granularity=PROPOSITION, **metadata):
    own = f"{granularity} {number} of {parent.text}"
    return Unit(own, own, granularity, parent.document_id, parent.id, 0, 9, metadata=metadata)


def filled(units, vectors):
    store = UnitStore(encoder=None)
    store.add(units, vectors=np.asarray(vectors, np.float32))
    return store


def passage_in(units):
    """Return a function that returns the passage of a unit: itself if it has none among the units."""
    stored = {unit.id: unit for unit in units if unit.granularity is PASSAGE}
    return lambda unit: stored.get(unit.parent_id, unit)


def brute_force(query, units, vectors, k, granularity, parents, condition=None, closed=()):
    """Score everything in plain Python; return (score, id) of the k best, and the scores under each parent."""
    stored = {unit.id for unit in units if unit.granularity is PASSAGE}
    by_id = {unit.id: vector for unit, vector in zip(units, vectors, strict=True)}
    scored = [
        (float(np.dot(query, by_id[unit.id])), unit)
        for unit in compared(units, passage_in(units), granularity)
        if condition is None
        or (condition(unit.metadata) and not (unit.granularity is PASSAGE and unit.id in closed))
    ]
    if not parents:
        return sorted((score for score, _ in scored), reverse=True)[:k], None
    under = {}
    for score, unit in scored:
        under.setdefault(unit.parent_id if unit.parent_id in stored else unit.id, []).append(score)
    best = sorted((max(scores) for scores in under.values()), reverse=True)[:k]
    return best, {own: sorted(scores, reverse=True) for own, scores in under.items()}


WHOLE = st.integers(-3, 3)  # exact in float32, with many ties
VECTORS = st.tuples(WHOLE, WHOLE, WHOLE)


@st.composite
def corpora(draw):
    """Passages with no, few or many units; units without their passage; some of year 1."""
    units = []
    for number in range(draw(st.integers(1, 6))):
        parent = passage(number, year=draw(st.integers(0, 1)))
        units += [parent] if draw(st.integers(0, 4)) else []
        for index in range(draw(st.sampled_from([0, 1, 2, 30]))):
            kind = draw(st.sampled_from([SENTENCE, PROPOSITION]))
            units.append(child(parent, index, kind, year=draw(st.integers(0, 1))))
    return units, [draw(VECTORS) for _ in units]


@settings(max_examples=60, deadline=None)
@given(
    corpora(),
    VECTORS,
    st.integers(1, 40),
    st.sampled_from([PASSAGE, SENTENCE, PROPOSITION]),
    *[st.booleans()] * 2,
)
def test_against_brute_force(corpus, query, k, granularity, parents, filtered):
    units, vectors = corpus
    condition = (lambda metadata: metadata["year"] == 1) if filtered else None
    if not units:
        return
    options = {
        "granularity": granularity,
        "parents": "passage" if parents else "unit",
        "weights": Weights(0, 0),
    }
    with filled(units, vectors) as store:
        if not compared(units, passage_in(units), granularity):
            with pytest.raises(InvalidInputError, match=f"and no {granularity}s"):
                store.search_by_vector(query, k, **options)
            return
        hits = store.search_by_vector(query, k, **options, filter={"year": 1} if filtered else None)
    by_parent = parents and granularity is not PASSAGE
    closed = {
        unit.id
        for unit in units
        if unit.granularity is PASSAGE and condition and not condition(unit.metadata)
    }
    closed |= {unit.parent_id for unit in units if condition and not condition(unit.metadata)}
    if granularity is PASSAGE:  # only open passages are compared
        chosen = [
            (unit, vector)
            for unit, vector in zip(units, vectors, strict=True)
            if unit.id not in closed
        ]
        units, vectors = [unit for unit, _ in chosen], [vector for _, vector in chosen]
    expected, under = brute_force(
        query, units, vectors, k, granularity, by_parent, condition, closed
    )
    assert [hit.score for hit in hits] == expected
    assert len({hit.unit.id for hit in hits}) == len(hits)
    known = {unit.id: unit for unit in units}
    for hit in hits:
        assert isinstance(hit.score, float)
        assert hit.unit == known[hit.unit.id]
        if under is None:
            matches = (hit.unit,) if hit.unit.granularity is PASSAGE else ()
            assert tuple(match.unit for match in hit.matches) == matches
            continue
        key = hit.unit.parent_id if hit.unit.parent_id in under else hit.unit.id
        assert (key in closed and key in known) == (
            key != hit.unit.id
        )  # its best unit stands for a closed passage
        assert [match.score for match in hit.matches] == under[key][:3]
        assert key == hit.unit.id or hit.matches[0].unit == hit.unit
        for match in hit.matches:
            assert match.unit in compared(units, passage_in(units), granularity)
            assert key in (match.unit.parent_id, match.unit.id)
            assert condition is None or condition(match.unit.metadata)


def test_queries_of_another_shape():
    with filled([passage(1)], [[1, 2]]) as store:
        for wrong in ([1, 2, 3], [[1, 2], [3, 4]], [], [np.nan, 0]):
            with pytest.raises(EncoderMismatchError, match=r"vectors of 2 dimensions|not finite"):
                store.search_by_vector(wrong, granularity="passage")
        assert len(store.search_by_vector([[1.0, 2.0]], np.int64(1), granularity="passage")) == 1


def test_a_text_matches_once_whatever_granularities_have_it():
    """A sentence that is one proposition is no second match; the same sentence elsewhere in the passage is."""
    script = ScriptedPropositionizer(lambda _: ["Anna sang.", "Bob dreamt."])
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents(
            [Document("Anna sang. Bob, who slept, dreamt. Anna sang.")], propositionizer=script
        )
        [mixed] = store.search("Anna sang", k=1, granularity=["sentence", "proposition"])
        [sentences] = store.search("Anna sang", k=1, granularity="sentence")
    assert Counter(match.unit.text for match in sentences.matches)["Anna sang."] == 2
    kinds = {match.unit.granularity for match in mixed.matches if match.unit.text == "Anna sang."}
    assert len(kinds) == 1


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_searched_follows_the_store_when_the_last_unit_of_a_granularity_is_deleted(
    tmp_path, on_disk
):
    above = passage(0)
    units = [above, child(above, 1, SENTENCE), child(above, 2, PROPOSITION)]
    path = tmp_path / "store" if on_disk else None
    with UnitStore(path, encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add(units)
        readers = (
            [
                store,
                UnitStore(path, encoder=HashEncoder(), read_only=True, granularities=GRANULARITIES),
            ]
            if on_disk
            else [store]
        )

        def matched():
            return [
                [match.unit for hit in reader.search("passage") for match in hit.matches]
                for reader in readers
            ]

        assert matched() == [[units[2]]] * len(readers)
        store.delete(unit_ids=[units[2].id])
        assert matched() == [[units[1]]] * len(readers)
        store.delete(unit_ids=[units[1].id])
        for reader in readers:
            assert [hit.unit for hit in reader.search("passage")] == [above]
            assert [hit.unit for hit in reader.search("passage", granularity="proposition")] == [
                above
            ]
        store.add(units[2:], keep_children=True)
        assert matched() == [[units[2]]] * len(readers)
        readers[-1].close()
    if on_disk:
        with UnitStore(path, encoder=HashEncoder(), granularities=GRANULARITIES) as store:
            assert [hit.matches[0].unit for hit in store.search("passage")] == [units[2]]
