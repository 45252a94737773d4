"""Units of every kind for the tests of stores, and all that a store holds, to be compared. Needs no pytest."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np

from factoid import Document, UnitStore
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Granularity, Unit

DIM = 8


class Numbers:
    """Encodes texts by what they hash to, in few dimensions."""

    name = "numbers"

    def encode_units(self, texts):
        return HashEncoder(DIM).encode_units(texts)

    encode_queries = encode_units


def unit(
    own,
    text="A town on a hill.",
    kind="proposition",
    document="d",
    parent="p",
    vector=None,
    **options,
):
    return Unit(own, text, Granularity(kind), document, parent, 0, len(text), **options), vector


def units(count, seed=0, prefix="u"):
    """Return units and vectors: shared vectors and metadata, none at all, payloads, parents that are not there."""
    random = np.random.default_rng(seed)
    pool = random.normal(size=(max(count // 2, 1), DIM)).astype(np.float32)
    made = []
    for number in range(count):
        kind = ("passage", "sentence", "proposition")[number % 3]
        own = f"{prefix}{number}"
        parent = f"{prefix}{number - number % 3}" if kind != "passage" else f"doc{number % 7}"
        vector = None if number % 11 == 10 else pool[random.integers(len(pool))]
        extras = {"metadata": {"year": int(random.integers(5)), "tags": ["a", "é"][: number % 3]}}
        extras["payload"] = "" if number % 5 else f"payload {number}"
        made.append(
            unit(own, f"Text {number} é", kind, f"doc{number % 7}", parent, vector, **extras)
        )
    return made


def compared(units, passage_of, kind):
    """The units that a search of a kind compares: those of the kind, and in a passage without any, others in their place.

    All units have vectors. A passage without units is compared itself.
    """
    chosen = [each for each in units if each.granularity is kind]
    if kind is Granularity.PASSAGE:
        return chosen
    over = {passage_of(each).id for each in chosen}
    documents = {each.document_id for each in chosen}
    for each in units:
        above = passage_of(each)
        fine = each.granularity is not Granularity.PASSAGE
        if each.granularity is kind or above.id in over:
            continue
        if fine and above is each and each.document_id in documents:
            continue
        under = [other for other in units if other is not each and passage_of(other) is each]
        if fine or not under:
            chosen.append(each)
    return chosen


def filled(path=None, count=60, seed=0, **options):
    """Return an open store of two documents with texts and of units without."""
    store = UnitStore(path, **({"granularities": GRANULARITIES, "encoder": Numbers()} | options))
    script = ScriptedPropositionizer(lambda passage: [passage.text, "Shared fact."])
    texts = [
        Document("The tower leans. It is high.", "Tower", "", "tower", {"lang": "en", "year": 1}),
        Document("The ship sank. It was new.", "Ship", "History", "ship", {"lang": "sv"}),
        Document("   ", id="blank"),
    ]
    store.add_documents(texts, propositionizer=script)
    put(store, units(count, seed))
    return store


def opened(path, **options):
    return UnitStore(path, **({"granularities": GRANULARITIES, "encoder": Numbers()} | options))


def put(store, made):
    if made:
        store.add(
            [each for each, _ in made], vectors=[vector for _, vector in made], keep_children=True
        )


def state(store):
    """Return all that a store holds: units in order, vectors, and documents with their digests."""
    ids = store.ids()
    vectors = {own: vector.tobytes() for own, vector in store.vectors(ids).items()}
    with store.opened.connections.reading() as snapshot:
        sql = "SELECT id, text, title, section, metadata, digest FROM documents WHERE text IS NOT NULL ORDER BY id"
        documents = snapshot.connection.execute(sql).fetchall()
    return store.get(ids), vectors, documents


def unordered(found):
    held, vectors, documents = found
    return {each.id: each for each in held}, vectors, documents


def answers(store, seed=1, k=7, **options):
    """Return what some queries find at each granularity: ids and scores."""
    queries = np.random.default_rng(seed).normal(size=(3, DIM)).astype(np.float32)
    return [
        [(hit.unit.id, round(hit.score, 5)) for hit in hits]
        for kind in store.granularities
        for hits in store.search_batch_by_vector(queries, k, granularity=kind, **options)
    ]


def change(path, *statements):
    """Change a database behind the store's back."""
    with closing(sqlite3.connect(path / "units.sqlite")) as connection, connection:
        for statement in statements:
            connection.execute(*((statement,) if isinstance(statement, str) else statement))


def change_vectors(path, *numbers):
    """Change a component of some vectors behind the store's back, by row."""
    (file,) = path.glob("vectors-*.bin")
    content = bytearray(file.read_bytes())
    for row in numbers:
        content[64 + (row - 1) * (4 * DIM + 4) + 1] ^= (
            1  # after the header; a record ends in a checksum
        )
    file.write_bytes(content)


def rows(path, sql):
    with closing(sqlite3.connect(path / "units.sqlite")) as connection:
        return connection.execute(sql).fetchall()


def flipped(content):
    """Return a file's content with one bit changed."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
