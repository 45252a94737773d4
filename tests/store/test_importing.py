"""`UnitStore.import_from`: what was exported comes back equal; what is malformed is one clear error with its place."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, UnitStore
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError, UnreadableFileError
from factoid.ingest import Split
from factoid.store import ImportReport
from factoid.store.database.transaction import Transaction
from factoid.store.transfer import formats
from factoid.store.transfer.formats import BLOCK
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit
from tests.store.content import DIM, answers, filled, opened, state, units, unordered

PARQUET = pytest.param(".parquet", marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow"))
ENDINGS = [".jsonl", ".jsonl.gz", PARQUET]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
any_unit = st.builds(
    Unit,
    granularity=st.sampled_from([kind for kind in Granularity if kind != "document"]),
    metadata=st.dictionaries(texts, values, max_size=3),
    **dict.fromkeys(["id", "document_id", "parent_id"], ids),
    **dict.fromkeys(["text", "title", "section", "payload"], texts),
    **dict.fromkeys(["start", "end"], st.integers(-(2**63), 2**63 - 1)),
)
any_vector = st.none() | st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3)


@pytest.mark.parametrize("ending", [".jsonl", PARQUET])
@settings(deadline=None, max_examples=30)
@given(made=st.lists(st.tuples(any_unit, any_vector), max_size=6, unique_by=lambda each: each[0].id))
def test_any_units_come_back_equal(ending, made):
    vectors = [None if vector is None else np.array(vector, np.float32) for _, vector in made]
    with tempfile.TemporaryDirectory() as folder, UnitStore(encoder=None) as store, UnitStore(encoder=None) as copy:
        if made:
            store.add([each for each, _ in made], vectors=vectors, keep_children=True)
        report = store.export(Path(folder, f"x{ending}"))
        assert copy.import_from(report.files[0]).units == len(made)
        assert state(copy) == state(store)
        assert copy.verify().ok


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_whole_store_comes_back_and_answers_the_same(tmp_path, ending):
    with filled(tmp_path / "a", 2 * BLOCK + 10) as store, opened(tmp_path / "b") as copy:
        path = store.export(tmp_path / f"x{ending}").files[0]
        report = copy.import_from(path, show_progress=True)
        assert report == ImportReport(units=len(store), documents=3)
        assert (state(copy), answers(copy)) == (state(store), answers(store))
        assert copy.verify().ok
        assert copy.encoder_name == "numbers"
        copy.import_from(path)
        assert unordered(state(copy)) == unordered(state(store))


@pytest.mark.parametrize("ending", [".jsonl", PARQUET])
def test_vectors_that_are_not_there_are_made_here(tmp_path, ending):
    with filled(tmp_path / "a", 0) as store, opened(tmp_path / "b") as copy:
        path, _, about = store.export(tmp_path / f"x{ending}", vectors=False).files
        assert json.loads(about.read_text())["vectors"] is False
        report = copy.import_from(path)
        assert report.encoded == sum(store.searches(unit) for unit in store.get(store.ids()))
        assert state(copy) == state(store)
    with UnitStore(encoder=None) as copy, pytest.raises(InvalidInputError, match="no encoder"):
        copy.import_from(path)


def test_units_replace_those_of_their_ids_and_documents_stay(held, tmp_path):
    path = held.export(tmp_path / "x.jsonl").files[0]
    before = state(held)
    held.update_metadata({"year": 9}, ids=["tower", "u3"])
    held.delete(["u4"])
    held.add([units(1, prefix="own")[0][0]], vectors=[None])
    held.import_from(path)
    found = unordered(state(held))
    assert found[0].pop("own0").text == "Text 0 é"
    assert found == unordered(before)
    assert held.verify().ok


def test_the_text_of_a_document_stays_when_its_only_unit_is_replaced(tmp_path):
    document = Document("It sank.", id="d")
    with UnitStore(encoder=None, granularities=["sentence"]) as store:
        store.replace_documents([Split(document, "", [])], [Unit(**GOOD)], {})
        (tmp_path / "x.jsonl").write_text(json.dumps({**GOOD, "text": "New.", "vector": None}))
        store.import_from(tmp_path / "x.jsonl")
        assert (store.document("d"), store.get(["a"])[0].text) == (document, "New.")


GOOD = {"id": "a", "text": "t", "granularity": "passage", "document_id": "d", "parent_id": "d", "start": 0, "end": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", r"expected one JSON object per line, got \[1\]"),
        ("NaN", "NaN is no JSON number"),
        ({"text": None}, "expected a value in 'text'"),
        ({"id": "a\0b"}, "holds a NUL byte"),
        ({"granularity": "word"}, "unknown granularity 'word'"),
        ({"start": 2**63}, "two whole numbers"),
        ({"end": True}, "two whole numbers, got True"),
        ({"metadata": [1]}, "metadata must be a dict"),
        ({"vector": ["1"]}, "numbers in 'vector'"),
        ({"vector": [[1], [2]]}, "numbers in 'vector'"),
        ({"vector": []}, "numbers in 'vector'"),
        ({"vector": [10**400]}, "numbers in 'vector'"),
        ({"colour": "red"}, "unknown field 'colour'.* metadata"),
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
        path.write_text(good)
        path.with_name("x.documents.jsonl").write_text('{"id": "d", "text": "t"}\n{"id": "d"}\n')
        with pytest.raises(UnreadableFileError, match=r"x\.documents\.jsonl:2: .*'text'"):
            store.import_from(path)


def test_blocks_before_the_fault_are_committed(tmp_path):
    lines = [json.dumps({**GOOD, "id": str(number), "vector": None}) for number in range(BLOCK + 5)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([*lines, "broken"]))
    with opened(tmp_path / "b") as store:
        with pytest.raises(UnreadableFileError, match=rf":{BLOCK + 6}: not JSON"):
            store.import_from(path)
        assert len(store) == BLOCK
        assert store.verify().ok


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("keep", [0.0, 0.98])
def test_files_that_are_cut_short_are_told(tmp_path, ending, keep):
    with filled(None, 500) as store:
        path = store.export(tmp_path / f"x{ending}").files[0]
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    message = r"not JSON|damaged after|cannot be read as Parquet|cut short"
    with opened(None) as copy, pytest.raises(UnreadableFileError, match=message):
        copy.import_from(path)


def test_a_line_that_is_missing_is_told_by_the_counts(held, tmp_path):
    path, count = held.export(tmp_path / "x.jsonl.gz").files[0], len(held)
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[:-1])))
    with opened(None) as copy:
        with pytest.raises(UnreadableFileError, match=rf"hold {count - 1} units .* states {count} .*cut short"):
            copy.import_from(path)
        assert len(copy) == count - 1
    (tmp_path / "x.jsonl.gz.about.json").unlink()
    with opened(None) as copy:
        assert copy.import_from(path).units == count - 1


def test_files_that_are_no_exports(tmp_path):
    with opened(None) as store:
        with pytest.raises(InvalidInputError, match="cannot tell the format"):
            store.import_from(tmp_path / "x.csv")
        with pytest.raises(UnreadableFileError, match=r"x\.jsonl cannot be read"):
            store.import_from(tmp_path / "x.jsonl")
        (tmp_path / "x.jsonl").write_text("")
        (tmp_path / "x.jsonl.about.json").write_text('{"format": 99}')
        with pytest.raises(UnreadableFileError, match=r"x\.jsonl\.about\.json is not what"):
            store.import_from(tmp_path / "x.jsonl")
        (tmp_path / "y.jsonl.gz").write_bytes(gzip.compress(json.dumps(GOOD).encode())[:-9])
        with pytest.raises(UnreadableFileError, match=r"y\.jsonl\.gz is damaged or cut short"):
            store.import_from(tmp_path / "y.jsonl.gz")


def test_parquet_of_others(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    with opened(None) as store:
        with pytest.raises(UnreadableFileError, match=r"x\.parquet cannot be read"):
            store.import_from(tmp_path / "x.parquet")
        parquet.write_table(pa.table({"id": ["a"], "text": ["t"], "metadata": ["{"]}), tmp_path / "x.parquet")
        with pytest.raises(UnreadableFileError, match=r"x\.parquet, row 1, metadata: not JSON"):
            store.import_from(tmp_path / "x.parquet")
        record = {**GOOD, "vector": np.arange(DIM, dtype=np.float64)}
        parquet.write_table(pa.table({name: [value] for name, value in record.items()}), tmp_path / "y.parquet")
        store.import_from(tmp_path / "y.parquet")
        assert store.vectors(["a"])["a"].tolist() == list(range(DIM))


def test_vectors_of_another_encoder_or_dimension_are_refused(held, tmp_path):
    path = held.export(tmp_path / "x.jsonl").files[0]
    with UnitStore(encoder=HashEncoder()) as store, pytest.raises(EncoderMismatchError, match="encoder 'numbers'"):
        store.import_from(path)
    with UnitStore(encoder=None) as store:
        store.add([units(1)[0][0]], vectors=[np.ones(3)])
        with pytest.raises(EncoderMismatchError, match=f"holds vectors of 3 dimensions, got {DIM} for the unit"):
            store.import_from(path)
        assert len(store) == 1


def test_an_import_that_failed_on_a_full_disk_and_is_run_again_leaves_nothing_out(tmp_path, monkeypatch):
    with filled(tmp_path / "store", 40) as store:
        store.export(tmp_path / "facts.jsonl")
        whole = unordered(state(store))
    monkeypatch.setattr(formats, "BLOCK", 7)
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
            assert copy.verify().ok
    assert failing > 8
