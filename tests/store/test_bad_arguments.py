"""What a store is asked wrongly is refused before anything is done, with what was expected."""

from __future__ import annotations

import copy
import pickle

import pytest

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "tpu"}, r"expected a device such as .* got 'tpu'"),
        ({"device": []}, "expected a device"),
        ({"device": None}, "expected a device"),
        ({"device": ["cuda:0", "cuda:0"]}, "expected a device"),
        ({"similarity": "l2"}, "unknown similarity 'l2': expected one of inner_product, cosine"),
        ({"granularities": "passage"}, "granularities must be some of"),
        ({"granularities": []}, "granularities must be some of"),
    ],
)
def test_bad_settings_are_refused_before_a_store_is_made(tmp_path, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        UnitStore(tmp_path / "store", encoder=HashEncoder(), **settings)
    assert not (tmp_path / "store").exists()


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents([Document("Ice floats. Lead sinks.")])
        yield store


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_score": "0.5"}, "min_score must be a number, got '0.5'"),
        ({"min_score": float("nan")}, "min_score must be a number, got nan"),
        (
            {"granularity": 3},
            "granularity must be one of passage, sentence, proposition, a list of them, or 'mixed', got 3",
        ),
    ],
)
def test_bad_options_of_a_search(store, options, message):
    with pytest.raises(InvalidInputError, match=message):
        store.search("ice", **options)


def test_an_unknown_option_is_told_what_there_is(store):
    with pytest.raises(TypeError, match=r"unknown options \['score_threshold'\].*min_score"):
        store.search("ice", score_threshold=0.5)


def test_one_string_is_no_list_of_ids(store):
    with pytest.raises(InvalidInputError, match="expected a list of ids, got the string 'ice'"):
        store.get("ice")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_open_store_is_neither_copied_nor_pickled(store, tmp_path, copied):
    with pytest.raises(TypeError, match="a UnitStore cannot be pickled or copied: copy_to"):
        copied(store)
    with UnitStore(tmp_path / "store", encoder=None) as own, pytest.raises(TypeError, match=r"open .*store' again"):
        copied(own)
