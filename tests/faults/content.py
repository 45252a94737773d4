"""Units, documents and vectors that a seed or a number makes, the same in every process: no
encoder, no model.
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np

from factoid import Document, Granularity, Unit, UnitStore
from factoid.store import GRANULARITIES
from factoid.testing import ScriptedPropositionizer

DIM = 16
KINDS = ("passage", "sentence", "proposition")
GROUPS = 3  # distinct values of metadata["group"], for filters

PROPOSITIONIZER = ScriptedPropositionizer(lambda passage: [passage.text, "It is a fact."])


@cache
def vector_of(text):
    """Return the vector of a text.

    Small whole numbers, so that every inner product is exact in float32.
    """
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).integers(-40, 41, DIM).astype(np.float32)


class SeededEncoder:
    """Gives each text the vector that `vector_of` makes of it."""

    name = f"SeededEncoder({DIM})"
    dim = DIM

    def encode_units(self, texts):
        return (
            np.stack([vector_of(text) for text in texts])
            if texts
            else np.zeros((0, DIM), np.float32)
        )

    encode_queries = encode_units


def opened(path, **options):
    index = {"sentence": "HNSW8"}  # which has a file of FAISS's; so few vectors are all compared
    return UnitStore(
        path,
        **(
            {
                "granularities": GRANULARITIES,
                "encoder": SeededEncoder(),
                "embed_template": None,
                "index": index,
            }
            | options
        ),
    )


def unit(own, version):
    """Return a unit whose id tells what it is: `d3` a document, `d3.1` its passage, `d3.1.s0` a
    sentence of that.
    """
    document, passage, *rest = own.split(".")
    kind = (
        {"s": Granularity.SENTENCE, "p": Granularity.PROPOSITION}[rest[0][0]]
        if rest
        else Granularity.PASSAGE
    )
    # Some texts stand in many units, which a store may keep one vector for, and which have equal
    # scores.
    text = f"Common fact {version % 2}." if own.endswith("p1") else f"{own} of version {version}."
    metadata = {"group": version % GROUPS, "version": version}
    parent = f"{document}.{passage}" if rest else document
    return Unit(
        own, text, kind, document, parent, version, version + len(text), document, "", metadata
    )


def family(document, passage, version):
    """Return a passage and four units under it."""
    own = f"d{document}.{passage}"
    return [unit(own + end, version) for end in ("", ".s0", ".s1", ".p0", ".p1")]


def document(number, version):
    """Return a document of two or three paragraphs, of which each is a passage."""
    paragraphs = [
        f"Place {number} has {part} gates. It is of version {version}."
        for part in range(2 + version % 2)
    ]
    return Document(
        "\n\n".join(paragraphs), f"Place {number}", "", f"t{number}", {"group": version % GROUPS}
    )


def add_documents(store, documents, **options):
    return store.add_documents(
        documents, propositionizer=PROPOSITIONIZER, words=12, min_words=2, **options
    )


@cache
def document_units(number, version):
    """Return the units that `add_documents` makes of a document: what a store in memory holds after
    it.
    """
    with opened(None) as store:
        add_documents(store, [document(number, version)])
        return tuple(store.get(store.ids()))
