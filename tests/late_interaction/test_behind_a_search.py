"""`rerank=`: the best passages of a search are ranked again, against the ranker itself over the
same passages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from factoid import AnyGranularityRanker, Document, Granularity, UnitStore, Weights
from factoid.errors import InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder
from tests.late_interaction.word_vectors import WordVectors

pytest.importorskip("faiss")

NAMES = "Heron Tern Kestrel Swift Plover Curlew Osprey Wren".split()
DOCUMENTS = [
    Document(
        f"The {name} sensor weighs {number} kg. It runs at {number * 10} volts.\n\n"
        f"Its warranty lasts {number} months. "
        f"Nobody repairs a {name} at sea.",
        title=name,
        id=name.lower(),
        metadata={"odd": number % 2},
    )
    for number, name in enumerate(NAMES, 2)
]
QUERY = "How long is the warranty of the Swift?"
KINDS = ["sentence", "proposition", "passage"]


@pytest.fixture(scope="module")
def store():
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents(DOCUMENTS, words=12, min_words=0)
        yield store


@pytest.fixture(scope="module")
def ranker() -> AnyGranularityRanker:
    return AnyGranularityRanker(WordVectors())


def of_kind(store: UnitStore, kind: str) -> list:
    return [unit for unit in store.get(store.ids()) if unit.granularity == kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parents", ["unit", "passage"])
def test_hits_are_those_of_the_ranker_over_the_best_passages(
    store, ranker, kind: str, parents: Any
) -> None:
    best = store.search(QUERY, 5, granularity=kind)
    passages = [hit.unit for hit in best]
    children = {
        passage.id: [unit for unit in of_kind(store, kind) if unit.parent_id == passage.id]
        for passage in passages
    }
    units = None if kind == "passage" else [children[passage.id] for passage in passages]
    expected = ranker.rank(QUERY, passages, kind, k=4, parents=parents, units=units)
    hits = store.search(QUERY, 4, granularity=kind, parents=parents, rerank=ranker, candidates=5)
    assert [(hit.unit.id, hit.score) for hit in hits] == [
        (hit.unit.id, pytest.approx(hit.score)) for hit in expected
    ]
    stored = {unit.id: unit for unit in store.get(store.ids())}
    for hit, from_ranker in zip(hits, expected, strict=True):
        assert hit.unit == stored[hit.unit.id]
        assert all(match.unit == stored[match.unit.id] for match in hit.matches)
        if parents == "passage" and kind != "passage":
            assert [(match.unit.id, match.score) for match in hit.matches] == [
                (match.unit.id, match.score) for match in from_ranker.matches
            ]


def test_the_score_joins_the_explanation(store, ranker) -> None:
    before = {hit.unit.id: hit for hit in store.search(QUERY, 16, granularity="sentence")}
    for hit in store.search(QUERY, 6, granularity="sentence", parents="unit", rerank=ranker):
        blended = before[hit.unit.parent_id].parts
        assert blended.items() <= hit.parts.items()
        assert {*hit.parts} - {*blended} == {"rerank", "rerank sentence", "rerank passage"}
        assert (
            hit.score
            == hit.parts["rerank"]
            == pytest.approx(hit.parts["rerank sentence"] + hit.parts["rerank passage"])
        )
    [hit] = store.search(QUERY, 1, granularity="sentence", rerank=ranker)
    assert {*hit.parts} - {*before[hit.unit.id].parts} == {"rerank"}
    assert hit.score == hit.parts["rerank"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"lexical": 1}, {"weights": Weights(0, 0)}])
def test_k_distinct_parents(store, ranker, kind: str, options: dict[str, Any]) -> None:
    """However few candidates there are; words alone find what shares one."""
    counts = {"document": 8, "passage": 16, "unit": len(of_kind(store, kind))}
    for parents, most in counts.items():
        for k in (1, 3, 7):
            common = {"granularity": kind, "parents": parents, "rerank": ranker, "candidates": 2}
            hits = store.search("The warranty of a sensor at sea", k, **common, **options)
            assert len({hit.unit.id for hit in hits}) == len(hits) == min(k, most)
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            assert all(np.isfinite(hit.score) for hit in hits)


def test_documents_have_the_best_of_their_passages(store, ranker) -> None:
    passages = store.search(QUERY, 16, granularity="sentence", rerank=ranker)
    best: dict[str, Any] = {}
    for hit in passages:
        best.setdefault(hit.unit.document_id, hit)
    documents = store.search(QUERY, 8, granularity="sentence", parents="document", rerank=ranker)
    assert [(hit.unit.id, hit.score, hit.matches) for hit in documents] == [
        (document_id, hit.score, hit.matches) for document_id, hit in best.items()
    ]
    assert {hit.unit.granularity for hit in documents} == {Granularity.DOCUMENT}
    [whole] = store.search(QUERY, 1, granularity="passage", parents="document", rerank=ranker)
    assert [match.unit.granularity for match in whole.matches] == [Granularity.PASSAGE]


@pytest.mark.parametrize("options", [{}, {"lexical": 1}])
def test_filters_are_applied_before(store, ranker, options: dict[str, Any]) -> None:
    common: dict[str, Any] = {
        "granularity": "sentence",
        "parents": "unit",
        "rerank": ranker,
        **options,
    }
    odd = store.search(
        "the warranty of a sensor at sea", 40, filter={"odd": 1}, candidates=3, **common
    )
    assert len(odd) == len([unit for unit in of_kind(store, "sentence") if unit.metadata["odd"]])
    assert {hit.unit.metadata["odd"] for hit in odd} == {1}
    one = store.search("the warranty of a sensor at sea", 9, document_ids=["tern"], **common)
    assert {hit.unit.document_id for hit in one} == {"tern"}
    some = [unit.id for unit in of_kind(store, "sentence")][:3]
    if not options:
        assert {hit.unit.id for hit in store.search(QUERY, 9, unit_ids=some, **common)} == {*some}
    assert store.search(QUERY, 9, filter={"odd": 7}, **common) == []


def test_passages_of_a_store_that_searches_nothing_finer_are_cut_to_sentences(ranker) -> None:
    """The paper's own setting: passages are retrieved, sentences ranked."""
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents(DOCUMENTS, words=12, min_words=0)
        hits = store.search(QUERY, 3, granularity="sentence", parents="unit", rerank=ranker)
        texts = {document.id: document.text for document in DOCUMENTS}
        for hit in hits:
            assert hit.unit.granularity is Granularity.SENTENCE
            assert texts[hit.unit.document_id][hit.unit.start : hit.unit.end] == hit.unit.text
        passages = [hit.unit for hit in store.search(QUERY, 100)]
        expected = ranker.rank(QUERY, passages, "sentence", k=3)
        assert [(hit.unit.id, hit.score) for hit in hits] == [
            (hit.unit.id, hit.score) for hit in expected
        ]
        [passage] = store.search(QUERY, 1, granularity="proposition", rerank=ranker)
        assert passage.unit.granularity is Granularity.PASSAGE
        assert passage.matches[0].unit.granularity is Granularity.PROPOSITION
        with pytest.raises(InvalidInputError, match="it has no index of sentences"):
            store.search(QUERY, 1, granularity="sentence")


def test_batches_thresholds_neighbours_and_vectors(store, ranker) -> None:
    options: dict[str, Any] = {"granularity": "sentence", "rerank": ranker}
    queries = [QUERY, "How many volts does the Tern need?"]
    single = [store.search(query, 3, **options) for query in queries]
    assert store.search_batch(queries, 3, **options) == single
    vector = HashEncoder().encode_queries([QUERY])[0]
    assert store.search_by_vector(vector, 3, text=QUERY, **options) == single[0]
    least = single[0][1].score
    assert store.search(QUERY, 3, min_score=least, **options) == single[0][:2]
    around = store.search(QUERY, 1, parents="unit", expand=1, **options)[0]
    assert around.unit in around.neighbours
    assert len(around.neighbours) > 1
    with pytest.raises(InvalidInputError, match="rerank needs the text of the query"):
        store.search_by_vector(vector, 3, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mmr": 0.5}, "rerank and mmr"),
        ({"granularity": "mixed"}, "one granularity"),
        ({"granularity": ["sentence", "passage"]}, "one granularity"),
        ({"granularity": "word"}, "unknown granularity 'word'"),
        ({"candidates": 0}, "candidates must be at least 1"),
    ],
)
def test_what_cannot_be_ranked_again(store, ranker, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        store.search(QUERY, 3, **({"rerank": ranker} | options))


def test_other_searches_and_writes_go_on_meanwhile(tmp_path: Path) -> None:
    with UnitStore(tmp_path / "store", encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents(DOCUMENTS)

        class Writing(WordVectors):
            def encode_passages(self, texts):
                store.add_documents([Document("The Rook came last.", id="rook")])
                assert store.search("Rook", 1)[0].unit.document_id == "rook"
                return super().encode_passages(texts)

        hits = store.search(
            QUERY, 3, granularity="sentence", rerank=AnyGranularityRanker(Writing())
        )
        assert len(hits) == 3
        assert "rook" not in {hit.unit.document_id for hit in hits}
