"""Stores that several test files begin with."""

from __future__ import annotations

import pytest

from factoid import UnitStore
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder
from tests.store.content import answers, filled, opened, state


@pytest.fixture(params=["memory", "disk"])
def path(request, tmp_path):
    return tmp_path / "store" if request.param == "disk" else None


@pytest.fixture
def store(path):
    """An empty store in memory, and one on disk."""
    with UnitStore(path, encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        yield store


@pytest.fixture
def held(tmp_path):
    """An open store of units of every kind, with its indexes."""
    with filled(tmp_path / "store") as store:
        answers(store)
        yield store


@pytest.fixture
def folder(held):
    """The folder of that store, closed."""
    held.close()
    return held.path


@pytest.fixture
def before(folder):
    """What that store holds and answers."""
    with opened(folder) as store:
        return state(store), answers(store)
