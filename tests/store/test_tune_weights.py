"""Weights that are fitted to questions, and kept in the store."""

import numpy as np
import pytest

from factoid import Document, UnitStore, Weights
from factoid.errors import InvalidInputError, StoreError

PLACES = [f"place{number:02d}" for number in range(40)]
DOCUMENTS = [
    Document(f"The harbour of {place} was built in year{number:02d}.", id=place)
    for number, place in enumerate(PLACES)
]
QUESTIONS = [
    (f"When was {place} built?", [f"year{number:02d}"]) for number, place in enumerate(PLACES)
]


class Noise:
    """Encodes texts as random directions, so that only words tell them apart."""

    name = "noise"

    def encode_queries(self, texts):
        return np.stack(
            [np.random.default_rng(list(text.encode())).normal(size=64) / 8 for text in texts]
        ).astype("f4")

    encode_units = encode_queries


class Knows(Noise):
    """Encodes texts by the place that they name, so that vectors tell all."""

    def encode_queries(self, texts):
        return np.array([[place in text for place in PLACES] for text in texts], np.float32)

    encode_units = encode_queries


def filled(path, encoder):
    store = UnitStore(path, encoder=encoder)
    store.add_documents(DOCUMENTS)
    return store


def test_words_get_more_weight_where_vectors_say_nothing(tmp_path):
    with filled(tmp_path / "s", Noise()) as store:
        report = store.tune_weights(QUESTIONS)
        assert (report.questions, report.answerable, report.applied) == (40, 40, True)
        assert report.best.lexical > report.current.lexical == Weights().lexical
        assert report.held_out_mrr > 0.9 > report.current_mrr
        assert 0 < report.gain[0] <= report.held_out_mrr - report.current_mrr <= report.gain[1]
        assert store.weights == report.best
        kept = [store.search(question, 3) for question, _ in QUESTIONS[:3]]
        assert kept == [
            store.search(question, 3, weights=report.best) for question, _ in QUESTIONS[:3]
        ]
        assert store.search("harbour", 3, weights=Weights()) != store.search("harbour", 3)
    with UnitStore(tmp_path / "s", encoder=Noise()) as store:
        assert store.weights == report.best
        assert [store.search(question, 3) for question, _ in QUESTIONS[:3]] == kept


def test_ranks_are_those_of_searches():
    with filled(None, Noise()) as store:
        report = store.tune_weights(
            [(question, answer) for question, (answer,) in QUESTIONS], keep=False
        )
        assert store.weights == Weights()
        ranks = []
        for question, (answer,) in QUESTIONS:
            texts = [hit.unit.text for hit in store.search(question, 20)]
            ranks.append(
                next((1 / rank for rank, text in enumerate(texts, 1) if answer in text), 0)
            )
        assert report.current_mrr == pytest.approx(np.mean(ranks))


def test_what_is_no_sure_gain_is_not_kept():
    with filled(None, Knows()) as store:
        report = store.tune_weights(QUESTIONS)
        assert (report.current_mrr, report.held_out_mrr, report.applied) == (1.0, 1.0, False)
        assert store.weights == report.best == Weights()


def test_what_cannot_be_fitted(tmp_path):
    with filled(tmp_path / "s", Noise()) as store:
        with pytest.raises(
            InvalidInputError, match=r"5 of 5 questions have an answer.*at least 20"
        ):
            store.tune_weights(QUESTIONS[:5])
        with pytest.raises(InvalidInputError, match="0 of 40 questions"):
            store.tune_weights([(question, ["nowhere"]) for question, _ in QUESTIONS])
    with (
        UnitStore(tmp_path / "s", encoder=Noise(), read_only=True) as store,
        pytest.raises(StoreError, match="read"),
    ):
        store.tune_weights(QUESTIONS)
    with (
        UnitStore(tmp_path / "s", encoder=None) as store,
        pytest.raises(InvalidInputError, match="no encoder"),
    ):
        store.tune_weights(QUESTIONS)
