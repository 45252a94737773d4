"""Words are weighed on the scale of an encoder's scores: its ranking does not depend on how near all of its cosines are."""

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.testing import HashEncoder

PLACES = "Bergen Cork Dresden Esbjerg Faro Ghent".split()
DOCUMENTS = [
    Document(
        f"The ferry to {place} sails at {hour}. It carries {10 * hour} cars and a bus.",
        title=f"{place} ferry",
    )
    for hour, place in enumerate(PLACES, 6)
]
QUESTIONS = [
    "When does the ferry to Faro sail?",
    "How many cars?",
    "a bus at 9",
    "Does the boat from Cork carry dogs?",
]


class OtherScale:
    """An encoder whose scores are those of a HashEncoder times a factor, plus a constant."""

    def __init__(self, factor, constant):
        self.factor = factor
        self.constant = constant

    def encode_units(self, texts):
        vectors = np.sqrt(self.factor) * HashEncoder().encode_units(texts)
        same = np.full((len(vectors), 1), np.sqrt(self.constant), np.float32)
        return np.hstack([vectors, same]).astype(np.float32)

    encode_queries = encode_units


def ranked(encoder, **options):
    similarity = options.pop("similarity", None)
    with UnitStore(encoder=encoder, similarity=similarity) as store:
        store.add_documents(DOCUMENTS)
        return [
            [hit.unit.title for hit in store.search(question, 6, **options)]
            for question in QUESTIONS
        ]


@pytest.mark.parametrize(
    ("factor", "constant"), [(0.1, 0.9), (0.03, 0.8), (1, 0), (2, 3), (50, 0), (1, 99)]
)
@pytest.mark.parametrize(
    "options", [{}, {"lexical": 0.5}, {"granularity": "mixed"}, {"parents": "document"}]
)
def test_narrow_and_wide_scores_give_the_same_ranking(factor, constant, options):
    assert ranked(OtherScale(factor, constant), **options) == ranked(HashEncoder(), **options)


def test_narrow_cosines_of_long_vectors_give_the_same_ranking():
    assert ranked(OtherScale(4, 36), similarity="cosine") == ranked(HashEncoder())


def test_narrow_scores_stay_cosines():
    with UnitStore(encoder=OtherScale(0.1, 0.9)) as store:
        store.add_documents(DOCUMENTS)
        for question in QUESTIONS:
            assert all(0.6 < hit.score <= 1 for hit in store.search(question, 6))


def test_a_filter_changes_no_score():
    with UnitStore(encoder=OtherScale(0.1, 0.9)) as store:
        store.add_documents(DOCUMENTS)
        for question in QUESTIONS:
            hits = store.search(question, 6)
            among = [hit.unit.document_id for hit in hits[2:]]
            assert store.search(question, 6, document_ids=among) == hits[2:]


def test_a_score_depends_neither_on_k_nor_on_the_batch():
    with UnitStore(encoder=OtherScale(0.1, 0.9)) as store:
        store.add_documents(DOCUMENTS)
        alone = [store.search(question, 6) for question in QUESTIONS]
        assert store.search_batch(QUESTIONS, 6) == alone
        assert [store.search(question, 1) for question in QUESTIONS] == [hits[:1] for hits in alone]


@pytest.mark.parametrize("encoder", [HashEncoder(), OtherScale(0.1, 0.9), OtherScale(50, 0)])
@pytest.mark.parametrize("text", ["The ferry to Faro sails at 9.", "Ferry"])
def test_a_store_of_one_passage_scores_any_question(encoder, text):
    with UnitStore(encoder=encoder) as store:
        store.add_documents([Document(text)])
        for question in ("The ferry to Faro sails at 9.", "Ferry", "xylophone", "the", "?", ""):
            [hit] = store.search(question, 3)
            assert np.isfinite(hit.score)


class SameVector:
    """An encoder to which all texts are equal."""

    def encode_units(self, texts):
        return np.tile(np.array([0.6, 0.8], np.float32), (len(texts), 1))

    encode_queries = encode_units


def test_words_decide_where_all_vectors_are_equal():
    with UnitStore(encoder=SameVector()) as store:
        store.add_documents(DOCUMENTS)
        for place in PLACES:
            assert (
                store.search(f"Is there a ferry to {place}?", 1)[0].unit.title == f"{place} ferry"
            )


class NoVector(SameVector):
    def encode_units(self, texts):
        return np.zeros((len(texts), 2), np.float32)

    encode_queries = encode_units


def test_vectors_of_zeros_are_no_error():
    with UnitStore(encoder=NoVector()) as store:
        store.add_documents(DOCUMENTS)
        assert [hit.score for hit in store.search("ferry to Faro", 2)] == [0, 0]


def test_an_approximate_index_gives_the_scores_of_an_exact_one():
    results = []
    for kind in ("Flat", "HNSW8"):
        with UnitStore(encoder=OtherScale(0.1, 0.9), index=kind) as store:
            store.add_documents(DOCUMENTS)
            results.append(
                [[(hit.unit.id, hit.score) for hit in store.search(text, 6)] for text in QUESTIONS]
            )
    for exact, approximate in zip(*results, strict=True):
        assert [unit_id for unit_id, _ in exact] == [unit_id for unit_id, _ in approximate]
        np.testing.assert_allclose(
            [score for _, score in exact], [score for _, score in approximate], rtol=1e-5
        )
