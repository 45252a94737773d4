"""What linking costs grows with the text, and no faster."""

from __future__ import annotations

import pytest

from factoid.entities.linkers import titles
from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import make_store


@pytest.fixture
def reads(monkeypatch):
    """Count how often the span of a match is read."""
    counted = []
    slot = titles._Found.span

    def read(match):
        counted.append(1)
        return slot.__get__(match)

    monkeypatch.setattr(titles._Found, "span", property(read, slot.__set__))
    return counted


def test_work_is_linear_in_the_mentions(tmp_path, reads):
    names = ["Ivan Petrovsky", "Black Water", "Paris"]
    with make_store(tmp_path / "s", names) as store:
        linker = TitleLinker(store)
        costs = []
        for times in (50, 100, 200):
            reads.clear()
            mentions = linker.link("Does Ivan Petrovsky Drink Black Water In Paris Or Not? " * times)
            assert len(mentions) == 3 * times
            costs.append(len(reads))
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0])
