"""`UnitStore.export`: files that other programs read, whole or not there."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import asdict
from unittest.mock import Mock

import numpy as np
import pytest

from factoid.errors import InvalidInputError, MissingDependencyError, StoreError
from factoid.store.transfer import formats
from tests.store.content import DIM, state


@pytest.fixture
def store(held):
    return held


def lines(path):
    """Return the records of a file, their vectors as float32."""
    content = path.read_bytes()
    records = [
        json.loads(line) for line in (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    ]
    for record in records:
        if record.get("vector") is not None:
            record["vector"] = np.array(record["vector"], np.float32).tolist()
    return records


def expected_units(store):
    found, vectors, _ = state(store)
    blobs = [vectors.get(unit.id) for unit in found]
    floats = [None if blob is None else np.frombuffer(blob, np.float32).tolist() for blob in blobs]
    return [{**asdict(unit), "vector": vector} for unit, vector in zip(found, floats, strict=True)]


def expected_documents(store):
    digests = {own: digest for own, *_, digest in state(store)[2]}
    return [
        {**asdict(document), "digest": digests[document.id]} for document in store.documents(["tower", "ship", "blank"])
    ]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_json_lines_hold_every_field(store, tmp_path, ending):
    report = store.export(tmp_path / "new" / f"facts{ending}", show_progress=True)
    units, documents, about = report.files
    assert lines(units) == expected_units(store)
    assert lines(documents) == expected_documents(store)
    assert [file.name for file in report.files] == [f"facts{end}{ending}" for end in ("", ".documents")] + [about.name]
    assert sorted((tmp_path / "new").iterdir()) == sorted(report.files)
    assert (report.units, report.documents) == (len(store), 3)
    told = json.loads(about.read_text())
    assert (told["encoder"], told["dim"], told["vectors"], told["units"]) == ("numbers", DIM, True, len(store))


def test_parquet_holds_every_field(store, tmp_path):
    pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    units, documents, _ = store.export(tmp_path / "facts.parquet").files
    for file, expected in ((units, expected_units(store)), (documents, expected_documents(store))):
        records = parquet.read_table(file).to_pylist()
        assert [{**record, "metadata": json.loads(record["metadata"])} for record in records] == expected
    assert str(parquet.read_schema(units).field("vector").type) == "list<element: float>"


def test_the_same_store_makes_the_same_bytes(store, tmp_path):
    first, second = (store.export(tmp_path / f"{name}.jsonl.gz").files for name in "ab")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_the_format_comes_from_the_name(store, tmp_path):
    for name in ("facts.csv", "jsonl"):
        with pytest.raises(InvalidInputError, match=rf"cannot tell the format of .*{name}: name it \.jsonl"):
            store.export(tmp_path / name)


def test_without_pyarrow_the_extra_is_named(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install \"factoid\[parquet\]\""):
        store.export(tmp_path / "facts.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["store"]


def test_an_export_that_fails_leaves_the_files_that_were_there(store, tmp_path, monkeypatch):
    before = {file: file.read_bytes() for file in store.export(tmp_path / "facts.jsonl").files}
    store.delete(["u1"])

    for name in ("write_documents", "write_units"):
        with monkeypatch.context() as patch:
            patch.setattr(formats.Files, name, Mock(side_effect=OSError(28, "No space left on device")))
            with pytest.raises(StoreError, match=r"cannot export to .*facts\.jsonl: No space left on device"):
                store.export(tmp_path / "facts.jsonl")
        assert {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before


def test_one_generation_is_exported_while_units_are_added(store, tmp_path, monkeypatch):
    count, record = len(store), formats._unit_record

    def deleting(*stored):
        store.delete(["tower"])
        return record(*stored)

    monkeypatch.setattr(formats, "_unit_record", deleting)
    report = store.export(tmp_path / "facts.jsonl")
    assert (report.units, report.documents) == (count, 3)
    assert len(store) < count
