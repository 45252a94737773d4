"""A store of small towns, for the tests of its folder.

Reading it needs no pytest: a killed process does so, too.
"""

from __future__ import annotations

from factoid import Document, UnitStore
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer

PROPOSITIONIZER = ScriptedPropositionizer(lambda passage: [passage.text])


def document(number):
    return Document(
        f"Town {number} lies on hill {number}. It has {number} gates.\n\n<!-- Later. -->\n\n"
        "It burned.",
        id=f"doc{number}",
    )


def opened(path, **options):
    return UnitStore(path, **({"granularities": GRANULARITIES, "encoder": HashEncoder()} | options))


def add(store, *numbers):
    return store.add_documents(
        [document(number) for number in numbers], propositionizer=PROPOSITIONIZER
    )


def hits(store, query="Which town lies on hill 3?", **options):
    return store.search(query, k=4, **options)


def make(path):
    """Make a store of eight documents, closed after each granularity was searched."""
    with opened(path) as store:
        add(store, *range(8))
        for granularity in ("passage", "sentence", "proposition"):
            hits(store, granularity=granularity)
    return path
