"""`UnitStore.compact`: smaller, the same content, whole whenever it is killed, and right for other processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from factoid.vectors import load
from tests.store.content import DIM, answers, filled, opened, put, rows, state, unit, units

pytest.importorskip("faiss")

ROOT = Path(__file__).resolve().parents[2]


def sizes(path):
    return sum(file.stat().st_size for file in path.iterdir() if not file.name.endswith("-shm"))


def thinned(path, count=900, **options):
    """Return a store of which most was deleted again."""
    with filled(path, count, **options) as store:
        answers(store)
        store.delete([f"u{number}" for number in range(count) if number % 10])
        return state(store), answers(store)


def test_a_store_gets_smaller_and_stays_the_same(tmp_path):
    before = thinned(tmp_path / "s")
    size = sizes(tmp_path / "s")
    with opened(tmp_path / "s") as store:
        store.compact()
        assert (state(store), answers(store)) == before
        assert store.verify() == []
        assert not (tmp_path / "s" / "units.sqlite-wal").stat().st_size
    assert sizes(tmp_path / "s") < 0.6 * size
    with opened(tmp_path / "s") as store:
        assert (state(store), answers(store)) == before


@pytest.mark.parametrize("folder", [True, False], ids=["disk", "memory"])
def test_stats_count_deleted_vectors_until_the_store_is_compacted(tmp_path, folder):
    with filled(tmp_path / "s" if folder else None, 50) as store:
        held = store.stats()["vectors"]
        assert store.stats()["deleted_vectors"] == 0
        store.delete([f"u{number}" for number in range(0, 50, 2)])
        deleted = held - store.stats()["vectors"]
        assert deleted > 0
        assert store.stats()["deleted_vectors"] == deleted
        put(store, [unit("new", document="tower", vector=np.ones(DIM, np.float32))])
        assert store.stats()["deleted_vectors"] == deleted  # rows are not used again
        store.compact()
        assert store.stats()["deleted_vectors"] == 0


def test_the_command_suggests_to_compact_where_much_was_deleted(tmp_path):
    from typer.testing import CliRunner

    from factoid.cli import app

    path = tmp_path / "s"
    thinned(path, 100)
    for command in ("stats", "verify"):
        shown = CliRunner().invoke(app, ["store", command, str(path)])
        assert shown.exit_code == 0
        assert "factoid store compact" in shown.output
    shown = CliRunner().invoke(app, ["store", "compact", str(path)])
    assert "vectors" in shown.output
    for command in ("stats", "verify"):
        assert "compact" not in CliRunner().invoke(app, ["store", command, str(path)]).output


def test_the_log_of_changes_goes_and_rows_keep_their_numbers(tmp_path):
    path = tmp_path / "s"
    thinned(path)
    [(last,)] = rows(path, "SELECT seq FROM sqlite_sequence WHERE name = 'units'")
    numbered = rows(path, "SELECT id, row, vector FROM units ORDER BY row")
    assert rows(path, "SELECT count(*) FROM changes") > [(100,)]
    with opened(path) as store:
        store.delete([numbered[-1][0]])
        store.compact()
        assert store.verify() == []
        put(store, [unit("new", document="tower", vector=np.ones(DIM, np.float32))])
    assert rows(path, "SELECT count(*) FROM changes") == [(0,)]
    [*others, new] = rows(path, "SELECT id, row, vector FROM units ORDER BY row")
    assert others == numbered[:-1]
    assert new[1] > last


def test_indexes_that_hide_what_was_deleted_are_built_anew(tmp_path):
    with filled(tmp_path / "s", 200, index="HNSW8") as store:
        answers(store)
        store.delete([f"u{number}" for number in range(20)])
        answers(store)
        store.refresh()
        indexes = [load(tmp_path / "s" / kind).vectors for kind in store.granularities]
        store.compact()
        compacted = [load(tmp_path / "s" / kind).vectors for kind in store.granularities]
    assert [(len(index), index.hidden) for index in compacted] == [
        (len(index), 0) for index in indexes
    ]
    assert indexes[0].hidden > 0


READER = """
import sys
from tests.store.content import answers, opened
with opened(sys.argv[1], read_only=sys.argv[2] == "ro") as store:
    for _ in sys.stdin:
        print(answers(store), flush=True)
"""


@pytest.mark.parametrize("mode", ["ro", pytest.param("rw", marks=pytest.mark.slow)])
def test_readers_in_other_processes_stay_right(tmp_path, mode):
    thinned(tmp_path / "s", 300)
    command, pipe = [sys.executable, "-c", READER, tmp_path / "s", mode], subprocess.PIPE
    with (
        subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as reader,
        opened(tmp_path / "s") as store,
    ):

        def theirs():
            reader.stdin.write("\n")
            reader.stdin.flush()
            return reader.stdout.readline().strip()

        for number in range(2):
            put(store, units(30, seed=number, prefix=f"new{number}-"))
            assert theirs() == str(answers(store))
            store.delete([f"new{number}-3", "u10"])
            store.compact()
            assert theirs() == str(answers(store))
            store.compact()
            put(store, units(5, seed=number + 10, prefix=f"more{number}-"))
        assert theirs() == str(answers(store))
        reader.stdin.close()
        assert reader.wait(30) == 0


def test_a_search_of_an_earlier_generation_goes_on_while_another_compacts(tmp_path):
    with filled(tmp_path / "s") as store, opened(tmp_path / "s") as other:
        before = answers(other)
        ids = [unit_id for unit_id in store.ids() if unit_id.startswith("u")]
        with other.opened.connections.reading() as snapshot:
            assert snapshot.generation
            expected = store.vectors(ids)
            store.delete(unit_ids=ids[:3])
            store.compact()
            assert len(list((tmp_path / "s").glob("vectors-*.bin"))) == 1
            found = snapshot.vectors_by_id(ids)
            assert {unit_id: vector.tolist() for unit_id, vector in found.items()} == {
                unit_id: vector.tolist() for unit_id, vector in expected.items()
            }
        assert answers(other) == answers(store) != before
