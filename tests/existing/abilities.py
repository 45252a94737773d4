"""What a store must do, one class for each ability: the bases of a store's test class are its row of the table.

A test class gives `open()`, which returns an `ExistingStore` over the same collection each time, empty at the first.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from factoid import Document, Weights
from factoid.heading_template import encoded_text
from factoid.errors import InvalidInputError
from factoid.existing import ExistingStore, to_unit
from factoid.existing.contract import DOCUMENT, GRANULARITY, KEYS
from factoid.filters import matches, to_condition
from tests.existing.corpus import CROWD, ENCODER, QUESTION, documents, oracle

UNITS = Weights(passage=0, lexical=0)
SCORES = pytest.approx


class Ability:
    """What all need: a store of our own for each test."""

    def open(self) -> ExistingStore:
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> ExistingStore:
        return self.open()

    @pytest.fixture
    def filled(self, store: ExistingStore) -> ExistingStore:
        store.add_documents(documents())
        return store

    @pytest.fixture
    def read_only(self) -> ExistingStore:
        """A filled store that all tests of a class share, which change nothing in it."""
        if "shared" not in type(self).__dict__:
            type(self).shared = self.open()
            type(self).shared.add_documents(documents())
        return type(self).shared


def ids(answer: Any) -> list[str]:
    return [hit.unit.document_id for hit in answer.hits]


def rows_of(store: ExistingStore) -> list[Any]:
    return [row for row in store.collection.scan(None) if row.metadata.get(GRANULARITY)]


class ExactParents(Ability):
    """k exact distinct parents, whatever stands before them."""

    def test_a_crowd_of_units_hides_nobody(self, read_only):
        [expected] = [oracle(documents()).search(QUESTION, 10, weights=UNITS)]
        answer = read_only.search(QUESTION, 10, weights=UNITS)
        assert answer.complete
        assert answer.note == ""
        assert len({*ids(answer)}) == 10
        assert ids(answer)[0] == "crowd"
        assert [hit.score for hit in answer.hits] == SCORES(
            [hit.score for hit in expected], abs=1e-4
        )

    def test_a_blended_score_is_that_of_our_own_store(self, read_only):
        own = oracle(documents())
        for weights in (Weights(passage=0.25, lexical=0), Weights(passage=1, lexical=0)):
            expected = {
                hit.unit.document_id: hit for hit in own.search(QUESTION, 25, weights=weights)
            }
            answer = read_only.search(QUESTION, 10, weights=weights)
            assert answer.complete
            best = sorted((hit.score for hit in expected.values()), reverse=True)[:10]
            assert [hit.score for hit in answer.hits] == SCORES(best, abs=1e-4)
            for hit in answer.hits:
                assert dict(hit.parts) == SCORES(
                    dict(expected[hit.unit.document_id].parts), abs=1e-4
                )

    def test_words_count_as_in_our_own_store(self, read_only):
        own = oracle(documents())
        weights = Weights(passage=0, lexical=1)
        question = "weather of place7 in the ledger"
        [expected] = own.search(question, 1, weights=weights)
        answer = read_only.search(question, 1, weights=weights)
        assert ids(answer) == [expected.unit.document_id] == ["d7"]
        assert answer.hits[0].parts["lexical"] > 0

    def test_the_matches_are_the_best_units(self, read_only):
        expected = {}
        for hit in oracle(documents()).search(QUESTION, 25, weights=UNITS):
            expected[hit.unit.document_id] = [match.score for match in hit.matches]
        for hit in read_only.search(QUESTION, 6, weights=UNITS).hits:
            assert [match.score for match in hit.matches] == SCORES(
                expected[hit.unit.document_id], abs=1e-4
            )
            assert all(match.unit.document_id == hit.unit.document_id for match in hit.matches)

    def test_more_than_there_are_is_all(self, read_only):
        answer = read_only.search(QUESTION, 40, weights=UNITS)
        assert answer.complete
        assert {*ids(answer)} == {document.id for document in documents()}

    def test_all_that_a_filter_leaves_is_all(self, read_only):
        answer = read_only.search(QUESTION, 30, filter={"tenant": "b"})
        assert answer.complete
        assert len(answer.hits) == 12

    def test_units_and_documents_as_parents(self, read_only):
        units = read_only.search(QUESTION, 3, parents="unit", weights=UNITS)
        assert [hit.unit.granularity for hit in units.hits] == ["proposition"] * 3
        assert ids(units) == ["crowd"] * 3
        answer = read_only.search(QUESTION, 5, parents="document")
        assert len(answer.hits) == len({*ids(answer)}) == 5
        added = {document.id: document for document in documents()}
        for hit in answer.hits:
            assert hit.unit.text == added[hit.unit.document_id].text
            assert hit.unit.metadata == added[hit.unit.document_id].metadata

    def test_passages_and_several_granularities(self, read_only):
        own = oracle(documents())
        for granularity in ("passage", "mixed"):
            expected = own.search(
                "Ledger page 3 about place3", 5, granularity=granularity, lexical=0
            )
            answer = read_only.search(
                "Ledger page 3 about place3", 5, granularity=granularity, lexical=0
            )
            assert [hit.score for hit in answer.hits] == SCORES(
                [hit.score for hit in expected], abs=1e-4
            )

    def test_named_documents_alone(self, read_only):
        answer = read_only.search(QUESTION, 9, document_ids=["d3", "d4", "no such"])
        assert {*ids(answer)} == {"d3", "d4"}
        assert read_only.search(QUESTION, 9, document_ids=[]).hits == []

    def test_an_empty_store_has_no_answer(self, store):
        assert store.search(QUESTION, 3).hits == []

    async def test_awaited_searches_are_the_same(self, read_only):
        expected = read_only.search(QUESTION, 8)
        answers = await asyncio.gather(*[read_only.asearch(QUESTION, 8) for _ in range(3)])
        for answer in answers:
            assert ids(answer) == ids(expected)
            assert [hit.score for hit in answer.hits] == SCORES(
                [hit.score for hit in expected.hits], abs=1e-5
            )


FILTERS: list[Any] = [
    {"tenant": "b"},
    {"tenant": {"$in": ["a", "b"]}},
    {"tenant": {"$nin": ["a"]}},
    {"tenant": {"$ne": "a"}},
    {"number": 3},
    {"number": 3.0},
    {"number": {"$gte": 20}},
    {"number": {"$lt": 2.5}},
    {"share": {"$gt": 9}},
    {"share": 2},
    {"even": True},
    {"even": 1},
    {"tags": {"$contains": "tag1"}},
    {"note": "it's “néw” — 新しい"},
    {"note": {"$exists": False}},
    {"none": None},
    {"place.name": "place5"},
    {"place": {"name": "place5"}},
    {"$or": [{"number": {"$gte": 22}}, {"tenant": "a", "number": {"$lte": 2}}]},
    {"$not": {"tenant": "a"}},
    {"number": {"$not": {"$gte": 3}}},
    {"number": {"$in": []}},
    {"$or": []},
    {},
]


class Filters(Ability):
    """A filter means the same over every store, and what it excludes is in no answer."""

    @pytest.mark.parametrize("condition", FILTERS, ids=str)
    def test_the_wall_lets_through_what_our_filters_do(self, read_only, condition):
        tree = to_condition(condition)
        expected = {document.id for document in documents() if matches(tree, document.metadata)}
        answer = read_only.search(QUESTION, 30, filter=condition)
        assert {*ids(answer)} == expected
        assert answer.complete
        assert all(
            match.unit.document_id in expected for hit in answer.hits for match in hit.matches
        )

    def test_a_function(self, read_only):
        answer = read_only.search(
            QUESTION, 30, filter=lambda metadata: metadata.get("number", 0) > 20
        )
        assert {*ids(answer)} == {"d21", "d22", "d23"}

    def test_words_do_not_climb_the_wall(self, read_only):
        answer = read_only.search("weather of place7", 9, filter={"number": {"$lt": 5}}, lexical=1)
        assert ids(answer)
        assert "d7" not in ids(answer)

    def test_values_with_quotes_ask_for_nothing_else(self, read_only):
        for value in ("a' OR '1'='1", 'a" or "1"=="1', "a\\", "%", "a:b", "新"):
            assert read_only.search(QUESTION, 3, filter={"tenant": value}).hits == []


class Deletes(Ability):
    """Deleting a document takes all its units."""

    def test_nothing_of_a_document_stays(self, filled):
        filled.search(QUESTION, 3)  # words are read
        assert filled.delete(["crowd", "d3", "no such"]) == 2
        assert {row.metadata[DOCUMENT] for row in rows_of(filled)}.isdisjoint({"crowd", "d3"})
        found = filled.search(QUESTION, 30)
        assert {"crowd", "d3"}.isdisjoint(ids(found))
        assert len(found.hits) == 23
        assert filled.documents(["crowd", "d4"]) == [documents()[5]]
        assert filled.verify() == []

    def test_deleting_again_is_harmless(self, filled):
        filled.delete(["d1"])
        assert filled.delete(["d1"]) == 0


class Upserts(Ability):
    """A document that is added again replaces itself, and leaves no unit behind."""

    def test_the_same_again_is_skipped(self, filled):
        before = sorted(row.id for row in rows_of(filled))
        report = filled.add_documents(documents())
        assert (report.documents, report.unchanged) == (0, 25)
        assert sorted(row.id for row in rows_of(filled)) == before

    def test_another_text_leaves_no_unit_behind(self, filled):
        filled.search(QUESTION, 3)
        changed = Document(
            "Beacon records were moved to the archive.", id="d2", metadata={"tenant": "a"}
        )
        filled.add_documents([changed])
        rows = [row for row in rows_of(filled) if row.metadata[DOCUMENT] == "d2"]
        passages = [to_unit(row).text for row in rows if row.metadata[GRANULARITY] == "passage"]
        assert passages == ["Beacon records were moved to the archive."]
        assert filled.verify() == []
        assert ids(filled.search("records moved to the archive", 1)) == ["d2"]
        assert filled.documents(["d2"]) == [changed]

    def test_other_metadata_of_the_same_text_are_the_ones_that_filter(self, filled):
        [old] = [document for document in documents() if document.id == "d6"]
        filled.add_documents([Document(old.text, old.title, id="d6", metadata={"tenant": "z"})])
        assert ids(filled.search(QUESTION, 9, filter={"tenant": "z"})) == ["d6"]
        assert "d6" not in ids(filled.search(QUESTION, 30, filter={"tenant": "a"}))
        assert len({row.id for row in rows_of(filled)}) == len(rows_of(filled))
        assert filled.verify() == []

    @pytest.mark.parametrize("call", range(1, 5))
    def test_an_interrupted_call_can_be_repeated(self, filled, call, monkeypatch):
        collection = filled.collection
        count = 0

        def interrupted(name):
            method = getattr(collection, name)

            def wrapped(*arguments):
                nonlocal count
                count += 1
                if count == call:
                    raise KeyboardInterrupt
                return method(*arguments)

            return wrapped

        changed = [
            Document("All of it burned down.", id=name, metadata={"tenant": "b"})
            for name in ("crowd", "d5")
        ]
        with monkeypatch.context() as patched:
            patched.setattr(collection, "put", interrupted("put"))
            patched.setattr(collection, "remove", interrupted("remove"))
            with pytest.raises(KeyboardInterrupt):
                filled.add_documents(changed)
        again = self.open()
        again.add_documents(changed)
        assert again.verify() == []
        rows = [row for row in rows_of(again) if row.metadata[DOCUMENT] == "crowd"]
        assert len(rows) < CROWD
        assert again.documents(["crowd", "d5"]) == changed

    def test_a_long_document_shrinks_and_grows(self, store):
        words = " ".join(f"Sentence number{place} stands here." for place in range(1500))
        for text in (words, "d1 is short now.", words):
            store.add_documents([Document(text, id="d1")])
            assert store.documents(["d1"])[0].text == text
            assert store.verify() == []


class Unicode(Ability):
    """Texts, ids and metadata are those that were added."""

    def test_everything_comes_back(self, store):
        awkward = [
            Document(
                "The 東京 tower is “tall” 🗼.",
                title="Ünïcode – 東京",
                id="d1",
                metadata={"clé": "été 🗼"},
            ),
            Document(
                "Quotes ' \" \\ and % and $1 and :name and {brace}.",
                id="it's",
                metadata={"q": "a'b\"c\\d"},
            ),
            Document("עברית וערבית مرحبا stand here.", id="d3/ü", metadata={"long": "x" * 5000}),
        ]
        for document in awkward:
            store.add_documents([document])
        assert store.documents([document.id for document in awkward]) == awkward
        assert store.verify() == []
        assert ids(store.search("東京 tower", 1)) == ["d1"]
        found = store.search("quotes name brace", 1, filter={"q": "a'b\"c\\d"})
        assert ids(found) == ["it's"]
        assert found.hits[0].unit.text == awkward[1].text
        assert ids(store.search("stand here", 9, document_ids=["it's", "d3/ü"]))
        store.delete(["it's"])
        assert store.documents(["it's"]) == []


class Concurrency(Ability):
    """Searches in several threads, while documents are added."""

    def test_threads_find_what_one_finds(self, filled):
        expected = ids(filled.search(QUESTION, 5, filter={"tenant": "a"}))
        faults: list[BaseException] = []

        def search():
            try:
                for _ in range(3):
                    assert ids(filled.search(QUESTION, 5, filter={"tenant": "a"})) == expected
            except BaseException as error:  # noqa: BLE001 - shown by the test
                faults.append(error)

        def add():
            try:
                for number in range(3):
                    filled.add_documents(
                        [
                            Document(
                                f"Other text {number}.",
                                id=f"d{100 + number}",
                                metadata={"tenant": "c"},
                            )
                        ]
                    )
            except BaseException as error:  # noqa: BLE001
                faults.append(error)

        threads = [threading.Thread(target=search) for _ in range(3)] + [
            threading.Thread(target=add)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert len(filled.search(QUESTION, 9, filter={"tenant": "c"}).hits) == 3


class Restart(Ability):
    """What was added is there when the store is opened again."""

    def test_another_process_finds_the_same(self, filled):
        expected = filled.search(QUESTION, 10)
        again = self.open()
        answer = again.search(QUESTION, 10)
        assert ids(answer) == ids(expected)
        assert [hit.score for hit in answer.hits] == SCORES(
            [hit.score for hit in expected.hits], abs=1e-5
        )
        assert again.add_documents(documents()).unchanged == 25


class Listing(Ability):
    """The store lists its rows: they can be verified, and what it held before gets its facts."""

    def put_own(self, store: ExistingStore) -> None:
        """Add a row of the user's own, as an application would have done before."""
        raise NotImplementedError

    def test_all_rows_follow_the_contract(self, filled):
        rows = rows_of(filled)
        kinds = [row.metadata[GRANULARITY] for row in rows]
        counts = oracle(documents()).counts()
        assert counts["proposition"] > 24 * 2 + CROWD
        assert kinds.count("document") == 25
        assert {kind: kinds.count(kind) for kind in counts} == counts
        assert all(row.metadata.keys() >= KEYS for row in rows)

    def test_damage_is_named(self, filled):
        [victim] = [
            row
            for row in rows_of(filled)
            if row.metadata[GRANULARITY] == "passage" and row.metadata[DOCUMENT] == "d1"
        ]
        filled.collection.remove([victim.id])
        problems = filled.verify()
        assert "document 'd1': 1 of its units are missing" in problems
        assert sum("its passage" in problem for problem in problems) == 2

    def test_rows_of_the_user_get_facts_and_stay(self, store):
        self.put_own(store)
        before = [row for row in store.collection.scan(None) if not row.metadata.get(GRANULARITY)]
        assert [row.text for row in before] == [
            "The old ferry crossed the strait. It sank in 1931."
        ]
        report = store.add_existing()
        assert report.documents == 1
        [hit] = store.search("ferry in the strait", 1).hits
        assert hit.unit.text == before[0].text
        assert hit.matches
        after = [row for row in store.collection.scan(None) if not row.metadata.get(GRANULARITY)]
        assert after == before
        assert store.add_existing().unchanged == 1


class Scores(Ability):
    """A score is the inner product or the cosine, whatever the store makes of it."""

    def test_scores_are_those_of_numpy(self, read_only):
        [query] = ENCODER.encode_queries([QUESTION])
        vectors = {}
        for row in rows_of(read_only):
            if row.metadata[GRANULARITY] == "proposition":
                unit = to_unit(row)
                [vectors[unit.id]] = ENCODER.encode_units([encoded_text(unit)])
        answer = read_only.search(QUESTION, 10, parents="unit", weights=UNITS)
        assert len(answer.hits) == 10
        for hit in answer.hits:
            assert hit.score == SCORES(float(np.dot(vectors[hit.unit.id], query)), abs=1e-4)


class UnknownScores(Ability):
    """A store of which nothing is known: an order by the fusion of ranks, and a sentence that says so."""

    def test_parents_are_distinct_and_good(self, filled):
        answer = filled.search(QUESTION, 5)
        assert answer.complete
        assert len({*ids(answer)}) == 5
        assert ids(filled.search("Ledger page 7 about place7, its weather", 3))[0] == "d7"

    def test_it_says_so_once(self, filled, caplog):
        for _ in range(3):
            filled.search(QUESTION, 5)
        assert caplog.text.count("does not know this class of vector store") == 1

    def test_a_filter_is_a_wall(self, filled):
        answer = filled.search(QUESTION, 9, filter={"tenant": "b"})
        assert {hit.unit.metadata["tenant"] for hit in answer.hits} == {"b"}
        assert len(answer.hits) == 9

    def test_fewer_than_asked_for_is_not_called_complete(self, filled):
        answer = filled.search(QUESTION, 60)
        assert len(answer.hits) == 25
        assert not answer.complete
        assert answer.note

    @pytest.mark.parametrize(
        "option", [{"weights": Weights()}, {"lexical": 0.5}, {"min_score": 0.1}], ids=str
    )
    def test_what_needs_scores_is_refused(self, filled, option):
        with pytest.raises(InvalidInputError, match="ordered by the fusion of ranks"):
            filled.search(QUESTION, 5, **option)
