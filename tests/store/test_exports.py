"""`UnitStore.export` and `import_from`: what was exported comes back equal; what is malformed is one clear error."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, UnitStore
from factoid.errors import (
    EncoderMismatchError,
    InvalidInputError,
    MissingDependencyError,
    StoreError,
    UnreadableFileError,
)
from factoid.store.document_units import SplitDocument
from factoid.store.ingest import replace_documents
from factoid.store.database.transaction import Transaction
from factoid.store.transfer import exports
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit
from tests.store.content import DIM, answers, filled, opened, state, units, unordered

PARQUET = pytest.param(
    ".parquet", marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")
)
both_formats = pytest.mark.parametrize("ending", [".jsonl", PARQUET])

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
any_unit = st.builds(
    Unit,
    granularity=st.sampled_from([kind for kind in Granularity if kind != "document"]),
    metadata=st.dictionaries(texts, values, max_size=3),
    **dict.fromkeys(["id", "document_id", "parent_id"], ids),
    **dict.fromkeys(["text", "title", "section", "payload"], texts),
    **dict.fromkeys(["start", "end"], st.integers(1 - 2**63, 2**63 - 1)),
)
any_vector = st.none() | st.lists(
    st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
)


@both_formats
@settings(deadline=None, max_examples=30)
@given(
    made=st.lists(st.tuples(any_unit, any_vector), max_size=6, unique_by=lambda each: each[0].id)
)
def test_any_units_come_back_equal(ending, made):
    vectors = [None if vector is None else np.array(vector, np.float32) for _, vector in made]
    with (
        tempfile.TemporaryDirectory() as folder,
        UnitStore(encoder=None) as store,
        UnitStore(encoder=None) as copy,
    ):
        if made:
            store.add([each for each, _ in made], vectors=vectors, keep_children=True)
        path = Path(folder, f"x{ending}")
        assert store.export(path) == copy.import_from(path) == len(made)
        assert state(copy) == state(store)
        assert copy.verify() == []


@both_formats
def test_a_whole_store_comes_back_and_answers_the_same(tmp_path, ending):
    path = tmp_path / "new" / f"x{ending}"
    with filled(tmp_path / "a", 2010) as store, opened(tmp_path / "b") as copy:
        assert (
            store.export(path, progress=True)
            == copy.import_from(path, progress=True)
            == len(store) + 3
        )
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        assert (state(copy), answers(copy)) == (state(store), answers(store))
        assert copy.verify() == []
        assert (copy.stats()["encoder"], copy.embed_template) == ("numbers", store.embed_template)
        copy.import_from(path)
        assert unordered(state(copy)) == unordered(state(store))


@both_formats
def test_records_hold_every_field(held, tmp_path, ending):
    held.export(tmp_path / f"x{ending}")
    if ending == ".jsonl":
        about, *records = map(json.loads, (tmp_path / "x.jsonl").read_text().splitlines())
        assert about["factoid"]["encoder"] == "numbers"
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        records = parquet.read_table(tmp_path / "x.parquet").to_pylist()
        records = [{**record, "metadata": json.loads(record["metadata"])} for record in records]
        assert (
            str(parquet.read_schema(tmp_path / "x.parquet").field("vector").type)
            == "list<element: float>"
        )
    found, vectors, _ = state(held)
    blobs = [vectors.get(unit.id) for unit in found]
    floats = [None if blob is None else np.frombuffer(blob, np.float32).tolist() for blob in blobs]
    assert all(0 <= record.pop("checksum") < 2**32 for record in records)
    for record in records:
        record["vector"] = record["vector"] and np.array(record["vector"], np.float32).tolist()
    expected = [
        {**asdict(unit), "vector": vector} for unit, vector in zip(found, floats, strict=True)
    ]
    for record in expected:
        del record["sentences"]  # never stored
    assert records[:-3] == expected
    named = ("id", "text", "title", "section", "metadata")
    documents = [asdict(document) for document in held.documents(["tower", "ship", "blank"])]
    assert [{name: record[name] for name in named} for record in records[-3:]] == documents


def test_one_state_is_written_whatever_is_deleted_meanwhile(held, tmp_path, monkeypatch):
    count, blocks = len(held), exports._write_jsonl

    def deleting(*given):
        held.delete(["tower"])
        blocks(*given)

    monkeypatch.setattr(exports, "_write_jsonl", deleting)
    assert held.export(tmp_path / "x.jsonl") == count + 3
    assert len((tmp_path / "x.jsonl").read_text().splitlines()) == count + 4


def test_an_export_that_fails_leaves_what_was_there(held, tmp_path, monkeypatch):
    (tmp_path / "x.jsonl").write_text("old")
    with pytest.raises(
        InvalidInputError, match=r"cannot tell the format of .*x\.csv: name it \.jsonl or \.parquet"
    ):
        held.export(tmp_path / "x.csv")
    monkeypatch.setattr(
        exports, "move_into_place", Mock(side_effect=OSError(28, "No space left on device"))
    )
    with pytest.raises(StoreError, match=r"cannot export to .*x\.jsonl: No space left"):
        held.export(tmp_path / "x.jsonl")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[parquet\]"):
        held.export(tmp_path / "x.parquet")
    assert [(file.name, file.read_bytes()) for file in tmp_path.glob("*x*")] == [
        ("x.jsonl", b"old")
    ]


@both_formats
def test_vectors_that_are_not_there_are_made_here(tmp_path, ending):
    with filled(tmp_path / "a", 0) as store, opened(tmp_path / "b") as copy:
        store.export(tmp_path / f"x{ending}", vectors=False)
        copy.import_from(tmp_path / f"x{ending}")
        assert state(copy) == state(store)
        assert copy.stats()["encoder"] == "numbers"
    with UnitStore(encoder=None) as copy, pytest.raises(InvalidInputError, match="no encoder"):
        copy.import_from(tmp_path / f"x{ending}")


def test_units_replace_those_of_their_ids_and_documents_stay(held, tmp_path):
    held.export(tmp_path / "x.jsonl")
    before = state(held)
    held.update_metadata({"year": 9}, ids=["tower", "u3"])
    held.delete(["u4"])
    held.add([units(1, prefix="own")[0][0]], vectors=[None])
    held.import_from(tmp_path / "x.jsonl")
    found = unordered(state(held))
    assert found[0].pop("own0").text == "Text 0 é"
    assert found == unordered(before)
    assert held.verify() == []


def test_the_text_of_a_document_stays_when_its_only_unit_is_replaced(tmp_path):
    document = Document("It sank.", id="d")
    with UnitStore(encoder=None, granularities=["sentence"]) as store:
        replace_documents(store.opened, [SplitDocument(document, "", [])], [Unit(**GOOD)], {})
        (tmp_path / "x.jsonl").write_text(json.dumps({**GOOD, "text": "New.", "vector": None}))
        store.import_from(tmp_path / "x.jsonl")
        assert (store.documents(["d"]), store.get(["a"])[0].text) == ([document], "New.")


GOOD = {
    "id": "a",
    "text": "t",
    "granularity": "passage",
    "document_id": "d",
    "parent_id": "d",
    "start": 0,
    "end": 1,
}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", r"expected one JSON object per line, got \[1\]"),
        ({"text": None}, "missing 1 required positional argument: 'text'"),
        ({"id": "a\0b"}, "holds a NUL byte"),
        ({"granularity": "word"}, "unknown granularity 'word'"),
        ({"granularity": "document", "text": None}, "'text'"),
        ({"start": 2**63}, "two whole numbers"),
        ({"end": True}, "two whole numbers, got .*True"),
        ({"metadata": [1]}, "metadata must be a dict"),
        ({"vector": [[1], [2]]}, "a list of numbers"),
        ({"vector": [10**400]}, "a list of numbers"),
        ({"colour": "red"}, "'colour'.* metadata"),
    ],
)
def test_a_malformed_line_is_named_with_its_place(tmp_path, line, message):
    path = tmp_path / "x.jsonl"
    good = json.dumps({**GOOD, "vector": None})
    path.write_text(f"{good}\n\n{line if isinstance(line, str) else json.dumps(GOOD | line)}\n")
    with opened(None) as store:
        with pytest.raises(UnreadableFileError, match=rf"x\.jsonl:3: .*{message}"):
            store.import_from(path)
        assert len(store) == 0


def test_blocks_before_the_fault_are_committed(tmp_path):
    lines = [json.dumps({**GOOD, "id": str(number), "vector": None}) for number in range(1005)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([*lines, "broken"]))
    with opened(tmp_path / "b") as store:
        with pytest.raises(UnreadableFileError, match=":1006: not JSON"):
            store.import_from(path)
        assert len(store) == 1000
        assert store.verify() == []


@both_formats
def test_files_that_are_cut_short_are_told(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    with filled(None, 500) as store:
        store.export(path)
    path.write_bytes(path.read_bytes()[:-100])
    with (
        opened(None) as copy,
        pytest.raises(UnreadableFileError, match=r"not JSON|cannot be read as Parquet"),
    ):
        copy.import_from(path)


def test_lines_that_are_missing_are_told_by_the_count(held, tmp_path):
    count, path = held.export(tmp_path / "x.jsonl"), tmp_path / "x.jsonl.gz"
    about, *lines = (tmp_path / "x.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join([about, *lines[:-1]])))
    with opened(None) as copy:
        with pytest.raises(
            UnreadableFileError,
            match=rf"states {count} records, and holds {count - 1}, .*cut short",
        ):
            copy.import_from(path)
        assert len(copy) == 0
        assert copy.import_from(path, edited=True) == count - 1
    (tmp_path / "records.jsonl").write_bytes(b"".join(lines[:-1]))
    with opened(None) as copy:
        with pytest.raises(
            UnreadableFileError, match=r"records\.jsonl:1: the record differs .* edited=True"
        ):
            copy.import_from(tmp_path / "records.jsonl")
        assert copy.import_from(tmp_path / "records.jsonl", edited=True) == count - 1


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_file_without_records_is_none(tmp_path, content):
    (tmp_path / "x.jsonl").write_text(content)
    with opened(None) as store:
        with pytest.raises(
            UnreadableFileError,
            match=r"x\.jsonl holds no records: it was cut short, .* edited=True",
        ):
            store.import_from(tmp_path / "x.jsonl")
        assert store.import_from(tmp_path / "x.jsonl", edited=True) == 0
        store.export(tmp_path / "none.jsonl")
        assert store.import_from(tmp_path / "none.jsonl") == 0


def test_files_of_others(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    with opened(None) as store:
        for name in ("x.parquet", "x.jsonl"):
            with pytest.raises(UnreadableFileError, match=rf"{name} cannot be read"):
                store.import_from(tmp_path / name)
        parquet.write_table(
            pa.table({"id": ["a"], "text": ["t"], "metadata": ["{"]}), tmp_path / "x.parquet"
        )
        with pytest.raises(UnreadableFileError, match=r"x\.parquet, row 1, metadata: not JSON"):
            store.import_from(tmp_path / "x.parquet")
        record = {**GOOD, "vector": np.arange(DIM, dtype=np.float64)}
        parquet.write_table(
            pa.table({name: [value] for name, value in record.items()}), tmp_path / "y.parquet"
        )
        store.import_from(tmp_path / "y.parquet")
        assert store.vectors(["a"])["a"].tolist() == list(range(DIM))


def test_vectors_of_another_encoder_or_dimension_are_refused(held, tmp_path):
    path = tmp_path / "x.jsonl"
    held.export(path)
    with (
        UnitStore(encoder=HashEncoder()) as store,
        pytest.raises(EncoderMismatchError, match="encoder 'numbers'"),
    ):
        store.import_from(path)
    with UnitStore(encoder=None) as store:
        store.add([units(1)[0][0]], vectors=[np.ones(3)])
        with pytest.raises(EncoderMismatchError, match=f"holds vectors of 3 dimensions, got {DIM}"):
            store.import_from(path)
        assert len(store) == 1


def test_an_import_that_failed_on_a_full_disk_and_is_run_again_leaves_nothing_out(
    tmp_path, monkeypatch
):
    with filled(tmp_path / "store", 40) as store:
        store.export(tmp_path / "facts.jsonl")
        whole = unordered(state(store))
    monkeypatch.setattr(exports, "_BLOCK", 16)
    for failing in range(1, 100):
        commits = iter(range(1, failing))

        def finish(writing, commits=commits, done=Transaction.finish):
            if next(commits, None) is None:
                raise sqlite3.OperationalError("database or disk is full")
            done(writing)

        with opened(tmp_path / f"copy{failing}") as copy:
            with monkeypatch.context() as patch:
                patch.setattr(Transaction, "finish", finish)
                try:
                    copy.import_from(tmp_path / "facts.jsonl")
                    break
                except StoreError:
                    pass
            copy.import_from(tmp_path / "facts.jsonl")
            assert unordered(state(copy)) == whole, failing
            assert copy.verify() == []
    assert failing > 3
