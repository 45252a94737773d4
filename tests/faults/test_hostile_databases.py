"""Databases of a stranger who writes right checksums: each call answers, or raises one error of
this package.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing, suppress

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.errors import FactoidError, StoreFormatError
from factoid.store.database.snapshot import checksum
from factoid.store.database.unit_columns import FROM_UNITS, UNIT
from factoid.testing import HashEncoder
from tests.faults.injected import CAMPAIGN, CAMPAIGN_SECONDS

pytest.importorskip("faiss")

TABLES = "meta meta units documents vectors metadata fields commits changes sqlite_sequence".split()
FACTS = "settings dtype forgotten logged embed_template encoder dim generation units weird".split()
VALUES = [
    *(
        None,
        "",
        "abc",
        -1,
        0,
        1 << 62,
        -(1 << 63),
        1.5,
        float("inf"),
        b"",
        b"\xff\xfe",
        "x" * 1000,
        "[1]",
        "{",
        "\0",
    ),
    *(
        '{"a":' * 900,
        "[" * 5000,
        "9" * 5000,
        "null",
        '{"kinds": 3}',
        "NaN",
        bytes(4),
        bytes(100_000),
    ),
    np.full(256, np.nan, np.float32).tobytes(),
]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "store"
    with UnitStore(path, encoder=HashEncoder()) as store:
        documents = []
        for number in range(6):
            text = f"Gate {number} opens at {number}. It is red."
            metadata = {"n": number, "tags": ["a", str(number)]}
            documents.append(
                Document(text, id=f"d{number}", title=f"Gate {number}", metadata=metadata)
            )
        store.add_documents(documents)
    for file in path.iterdir():
        if file.suffix not in (".sqlite", ".bin"):
            file.unlink()
    return path


def change(connection, chance):
    """Put a value of another type or size into a row of some table, or into all."""
    table = chance.choice(TABLES)
    value = chance.choice(VALUES)
    if table == "meta":
        connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [chance.choice(FACTS), value]
        )
        return
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] or [
        "name",
        "seq",
    ]
    where = ""
    if table not in ("fields", "changes") and chance.random() < 0.7:
        where = f"WHERE rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {chance.randrange(6)})"
    connection.execute(f'UPDATE {table} SET "{chance.choice(columns)}" = ? {where}', [value])


def make_right(connection):
    """Write the checksums of what is there."""
    for _, *values in connection.execute(f"SELECT {UNIT} FROM {FROM_UNITS}").fetchall():
        connection.execute(
            "UPDATE units SET checksum = ? WHERE row = ?", [checksum(*values), values[0]]
        )
    for row, *values in connection.execute(
        "SELECT row, id, text, title, section, metadata FROM documents"
    ).fetchall():
        connection.execute(
            "UPDATE documents SET checksum = ? WHERE row = ?", [checksum(*values), row]
        )
    meta = connection.execute("SELECT key, value FROM meta WHERE key <> 'checksum'").fetchall()
    connection.execute(
        "INSERT OR REPLACE INTO meta VALUES ('checksum', ?)", [checksum(*sorted(meta))]
    )


def use(path, tmp_path, *, read_only):
    """Make every kind of call; errors of this package are answers."""
    with (
        suppress(FactoidError),
        UnitStore(path, encoder=HashEncoder(), read_only=read_only) as store,
    ):
        calls = [
            lambda: store.search("gate 3 red", 3),
            lambda: store.search("gate 3 red", 3, filter={"n": {"$gte": 2}}, expand=1),
            lambda: store.search("gate 3 red", 3, lexical=1),
            lambda: store.search("gate 3 red", 3, parents="document"),
            lambda: store.verify(),
            lambda: [unit_id.strip() for unit_id in store.ids()],
            lambda: (store.stats(), store.counts(), store.weights, store.embed_template),
            lambda: store.export(tmp_path / "x.jsonl"),
            lambda: store.copy_to(tmp_path / "copy"),
        ]
        if not read_only:
            calls += [
                lambda: store.add_documents([Document("A new text is here.", id="new")]),
                lambda: store.delete(["d1"]),
                lambda: store.update_metadata({"q": 1}, ids=["d2"]),
                lambda: store.verify(repair=True),
            ]
        for call in calls:
            with suppress(FactoidError):
                call()


@pytest.mark.timeout(CAMPAIGN_SECONDS)
@pytest.mark.parametrize(
    "cases", [40, pytest.param(4 * CAMPAIGN, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_values_of_other_types(pristine, tmp_path, cases):
    chance = random.Random(cases)
    path = tmp_path / "store"
    for _ in range(cases):
        for folder in (path, tmp_path / "copy"):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(pristine, path)
        with closing(sqlite3.connect(path / "units.sqlite", isolation_level=None)) as connection:
            for _ in range(chance.choice([1, 1, 2])):
                with suppress(sqlite3.Error):
                    change(connection, chance)
            with suppress(sqlite3.Error, TypeError, UnicodeError):
                make_right(connection)
        use(path, tmp_path, read_only=chance.random() < 0.5)


def test_no_vector_is_written_where_no_file_ends(pristine, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(pristine, path)
    with closing(sqlite3.connect(path / "units.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'vectors'", [1 << 62])
    with (
        UnitStore(path, encoder=HashEncoder()) as store,
        pytest.raises(StoreFormatError, match="last row of"),
    ):
        store.add_documents([Document("A gate of its own.")])


@pytest.fixture
def odd_id(tmp_path):
    """Return a store of one document, of whose units one has an id that is no text."""
    with UnitStore(tmp_path / "store", encoder=HashEncoder()) as store:
        store.add_documents([Document("It rains.", id="d1", metadata={"kind": "a"})])
    with closing(sqlite3.connect(tmp_path / "store" / "units.sqlite")) as connection:
        unit = connection.execute("SELECT min(row) FROM units").fetchone()
        connection.execute("UPDATE units SET id = ? WHERE row = ?", [b"\xff\xfe", *unit])
        connection.commit()
    with UnitStore(tmp_path / "store", encoder=HashEncoder()) as store:
        yield store


def test_an_id_that_is_no_text_is_deleted_with_its_document(odd_id):
    odd_id.delete(["d1"])
    assert odd_id.search("rain", 1) == []
    assert odd_id.verify() == []


def test_an_id_that_is_no_text_is_named_after_a_deletion_by_filter(odd_id):
    odd_id.delete(filter={"kind": "a"})
    with pytest.raises(StoreFormatError, match="damaged"):
        odd_id.search("rain", 1)
