"""Units and options that cannot be right are refused, and leave the store as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from factoid import UnitStore
from factoid.errors import InvalidInputError, StoreError
from tests.store.content import DIM, filled, state, unit

GOOD = unit("new")[0]
QUERY = np.ones(DIM, np.float32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"granularity": "word"}, "unknown granularity 'word'"),
        ({"id": 5}, "id must be a str"),
        ({"text": "a\ud800"}, "lone surrogate"),
        ({"document_id": None}, "document_id must be a str"),
        ({"document_id": "a\0"}, "NUL byte"),
        ({"parent_id": "a\0b"}, "NUL byte"),
        ({"end": 1.5}, "span .* whole numbers"),
        ({"title": None}, "title must be a str"),
        ({"payload": b"x"}, "payload must be a str"),
        ({"metadata": None}, "metadata must be a dict"),
    ],
)
def test_a_unit_that_could_not_be_read_back_is_refused(change, message):
    with filled() as store:
        before = state(store)
        with pytest.raises(InvalidInputError, match=message):
            store.add([GOOD, replace(GOOD, **({"id": "other"} | change))], vectors=[QUERY, QUERY])
        assert state(store) == before
        assert store.verify() == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"k": 1.5}, "k must be a whole number"),
        ({"granularity": "document"}, "it has no index of documents"),
        ({"granularity": "word"}, "unknown granularity 'word'"),
        ({"filter": {"x": {"$near": 1}}}, "unknown operator"),
        ({"filter": [1]}, "a dict of conditions or a callable"),
        ({"mmr": 2}, "mmr must be from 0"),
        ({"min_score": "high"}, "min_score must be a number"),
        ({"weights": {"passage": 1}}, "weights must be factoid.Weights"),
        ({"rerank": "colbert"}, "rerank must be 'tokens'.* or a ranker"),
        ({"lexical": 1.5}, "from 0 to 1"),
        ({"parameters": ["nprobe"]}, "parameters must be a dict"),
        ({"unit_ids": "u1"}, "expected a list of ids, got the string 'u1'"),
    ],
)
def test_an_option_that_is_out_of_range_or_of_another_type_is_refused(option, message):
    with filled() as store, pytest.raises(InvalidInputError, match=message):
        store.search_by_vector(QUERY, **option)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"similarity": "l2"}, "unknown similarity 'l2': expected one of inner_product, cosine"),
        ({"index": "Fla"}, "'Fla' is not a FAISS factory string"),
        ({"device": "tpu"}, "expected a device such as"),
        ({"device": None}, "expected a device such as"),
        ({"device": ["cuda:0", "cuda:0"]}, "expected a device such as"),
        ({"dtype": "int8"}, "dtype must be one of float32, float16, got 'int8'"),
        (
            {"granularities": "passage"},
            "granularities must be some of passage, sentence, proposition",
        ),
        ({"granularities": ["passage", "document"]}, "granularities must be some of"),
        ({"granularities": ["word"]}, "unknown granularity 'word'"),
    ],
)
def test_a_setting_that_is_unknown_makes_no_store(tmp_path, setting, told):
    with pytest.raises(InvalidInputError, match=told):
        UnitStore(tmp_path / "s", encoder=None, **setting)
    assert not (tmp_path / "s").exists()


def test_a_string_is_no_list_of_ids():
    with filled() as store:
        for method in (store.get, store.vectors):
            with pytest.raises(
                InvalidInputError, match="expected a list of ids, got the string 'u1'"
            ):
                method("u1")


@pytest.mark.parametrize("how", ["moved", "replaced"])
def test_nothing_is_written_to_a_store_that_lost_its_place(tmp_path, how):
    """The write would seem to succeed, and be gone with the last handle."""
    path = tmp_path / "s"
    with filled(path) as store:
        store.copy_to(tmp_path / "copy")
        path.rename(tmp_path / "elsewhere")
        if how == "replaced":
            (tmp_path / "copy").rename(path)
        with pytest.raises(StoreError, match="moved, deleted or replaced while it was open"):
            store.add([GOOD], vectors=[QUERY])
        assert store.get(["new"]) == []


def test_parameters_go_to_the_indexes_that_know_them():
    pytest.importorskip("faiss")
    kinds = {
        "passage": "IVF4,Flat",
        "sentence": "HNSW8",
        "proposition": "IVF64,Flat",
    }  # both too large for these few
    options = {"granularity": "mixed", "parents": "unit", "k": 50}
    with filled(index=kinds) as store:
        found = store.search_by_vector(QUERY, **options, parameters={"nprobe": 4, "efSearch": 64})
        assert found == store.search_by_vector(QUERY, **options)
        store.search_by_vector(QUERY, granularity="passage", parameters={"nprobe": 4})
        with pytest.raises(InvalidInputError, match="parameters must be a dict such as"):
            store.search_by_vector(QUERY, parameters={"nprobes": 4})
