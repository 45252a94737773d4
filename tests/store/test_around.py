"""What lies around a unit, and which documents there are."""

from __future__ import annotations

import pytest

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit
from tests.cities import OSLO, PISA, add

PARTS = [f"Part number {number}." for number in range(6)]


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents([Document("\n\n".join(PARTS), id="parts")], words=3, min_words=0)
        add(store, PISA, OSLO)
        yield store


def passages(store, document_id="parts"):
    units = [
        unit for unit in store.units_of([document_id]) if unit.granularity is Granularity.PASSAGE
    ]
    return sorted(units, key=lambda unit: unit.start)


@pytest.mark.parametrize("count", range(8))
@pytest.mark.parametrize("place", range(6))
def test_around_a_passage_and_its_facts(store, place, count):
    every = passages(store)
    expected = every[max(place - count, 0) : place + count + 1]
    inner = [unit for unit in store.units_of(["parts"]) if unit.parent_id == every[place].id]
    assert inner
    for unit in (every[place], *inner):
        assert store.around(unit.id, count) == expected
        assert store.around(unit.id, count, filter={}) == expected


def test_around_what_is_excluded_or_unknown(store):
    [unit] = passages(store, "oslo")
    assert store.around(unit.id, filter={"country": "no"}) == [unit]
    assert store.around(unit.id, filter={"country": "it"}) == []
    assert store.around("unknown") == []
    with pytest.raises(InvalidInputError, match="count must be at least 0"):
        store.around(unit.id, -1)


def test_around_a_node_whose_place_is_unknown(store):
    parent = Unit("p", "One. Two.", Granularity.PASSAGE, "d", "d", 0, 0)
    store.add([parent, Unit("s", "One.", Granularity.SENTENCE, "d", "p", 0, 0)])
    assert store.around("s") == [parent]
    assert store.around("p") == [parent]


def test_an_excluded_neighbour_is_left_out(store):
    first, second, *_ = passages(store)
    store.update_metadata({"secret": True}, unit_ids=[second.id])
    around = store.around(first.id, 2, filter={"secret": {"$exists": False}})
    assert [unit.text for unit in around] == [PARTS[0], PARTS[2]]


def test_document_ids(store):
    assert store.document_ids() == ["parts", "pisa", "oslo"]
    assert store.document_ids({"country": {"$exists": True}}) == ["pisa", "oslo"]
    assert store.document_ids({"country": "it"}) == ["pisa"]
    # A document of which a part is excluded is closed.
    [first, *_] = passages(store, "pisa")
    store.update_metadata({"country": "fr"}, unit_ids=[first.id])
    assert store.document_ids({"country": "it"}) == []
    # Units that came without a text are of no document that could be listed.
    store.add([Unit("u", "Text.", Granularity.PASSAGE, "alone", "alone", 0, 5)])
    assert "alone" not in store.document_ids()


def test_many_documents_are_listed_in_order():
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents(
            [Document(f"Text {n}.", id=f"d{n}", metadata={"n": n}) for n in range(1100)]
        )
        assert store.document_ids({"n": {"$gte": 3}}) == [f"d{n}" for n in range(3, 1100)]


def pages_of(list_ids, limit, *arguments):
    """Return a list of ids page by page."""
    pages = [list_ids(*arguments, limit=limit)]
    while pages[-1]:
        pages.append(list_ids(*arguments, after=pages[-1][-1], limit=limit))
    return pages[:-1]


@pytest.mark.parametrize("condition", [None, {}, {"n": {"$gte": 3}}, {"even": True}, {"n": -1}])
@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_pages_are_the_whole_list(condition, limit):
    with UnitStore(encoder=HashEncoder()) as store:
        documents = []
        for n in range(12):
            metadata = {"n": n, "even": n % 2 == 0}
            documents.append(Document(f"Text {n}. More {n}.", id=f"d{n}", metadata=metadata))
        store.add_documents(documents)
        # Documents and units in between that are in no list, or closed.
        store.delete(document_ids=["d4"])
        store.add([Unit("u", "Text.", Granularity.PASSAGE, "alone", "alone", 0, 5)])
        closed = store.units_of(["d6"])[0]
        store.update_metadata({"n": 0, "even": False}, unit_ids=[closed.id])
        for list_ids in (store.ids, store.document_ids):
            whole = list_ids(condition)
            pages = pages_of(list_ids, limit, condition)
            assert [unit_id for page in pages for unit_id in page] == whole
            assert all(len(page) == limit for page in pages[:-1])
            if whole:
                assert list_ids(condition, after=whole[0]) == whole[1:]


def test_a_page_reads_its_own_rows_only(store):
    store.add_documents([Document(f"Text {n}.", id=f"d{n}") for n in range(50)])
    with store.opened.connections.reading() as snapshot:
        rows = []
        snapshot.connection.set_trace_callback(rows.append)
    assert store.document_ids(after="d9", limit=2) == ["d10", "d11"]
    assert len(store.ids(after=store.ids(limit=1)[0], limit=3)) == 3
    snapshot.connection.set_trace_callback(None)
    lists = [sql for sql in rows if "ORDER BY row" in sql and "json_each" not in sql]
    assert lists
    assert all("LIMIT" in sql and "LIMIT -1" not in sql for sql in lists)


def test_a_page_after_what_is_not_in_the_list(store):
    with pytest.raises(InvalidInputError, match="no document with the id 'unknown' in this list"):
        store.document_ids(after="unknown")
    # What a filter excludes is as unknown: the message tells nothing of it.
    with pytest.raises(InvalidInputError, match="no document with the id 'oslo' in this list"):
        store.document_ids({"country": "it"}, after="oslo")
    [unit] = passages(store, "oslo")
    with pytest.raises(InvalidInputError, match="no unit with the id"):
        store.ids({"country": "it"}, after=unit.id)
    for after in ("alone", "\0", "\ud800", "x" * 1_000_000):
        with pytest.raises(InvalidInputError):
            store.document_ids(after=after)
    store.add([Unit("u", "Text.", Granularity.PASSAGE, "alone", "alone", 0, 5)])
    for condition in (None, {}):
        with pytest.raises(InvalidInputError, match="no document"):
            store.document_ids(condition, after="alone")  # it has no text
    for limit in (0, -1, 1.5):
        with pytest.raises(InvalidInputError, match="limit"):
            store.ids(limit=limit)
    assert store.document_ids(limit=10**30) == store.document_ids()


def test_titles(store):
    store.add_documents([Document("# Oaks\n\nThey are trees.", id="oaks")])
    titles = store.titles(["oaks", "pisa", "unknown"])
    assert titles == {"oaks": "Oaks", "pisa": "Pisa"}
    for document_id, title in titles.items():
        assert {unit.title for unit in store.units_of([document_id])} == {title}
