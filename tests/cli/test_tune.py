"""`factoid tune`, and `UnitStore.tune` behind it."""

from __future__ import annotations

import ast
import re
from types import SimpleNamespace

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.index import check_kind, kinds_to_try
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit

pytest.importorskip("faiss")

DIM = 16


def vectors(count, seed=0):
    random = np.random.default_rng(seed)
    centres = random.standard_normal((20, DIM))
    return (centres[random.integers(0, 20, count)] + random.standard_normal((count, DIM)) / 2).astype(np.float32)


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big"
    kind = {"granularity": Granularity.PROPOSITION, "document_id": "d", "parent_id": "p"}
    with UnitStore(path, encoder=None) as store:
        store.add([Unit("", f"{at}", **kind, start=at, end=at + 1) for at in range(2000)], vectors=vectors(2000))
    return path


def test_it_measures_kinds_and_proposes_lines_that_work(run, big):
    before = {file.name: file.read_bytes() for file in big.glob("*.sqlite")}
    code, out, err = run("tune", big, "--queries", "20", "-k", "5")
    assert (code, err) == (0, "")
    assert out.startswith("The 5 best of 1,980 proposition vectors of 16 dimensions, by inner product, for each of 20")
    assert re.search(r"^kind +search +recall +ms +ms \(95 %\) +bytes/vector +build, s$", out, re.M)
    for row in ("Flat +1.000", "SQ8", "HNSW32 +efSearch 64", "IVF32,Flat +nprobe 16"):
        assert re.search(rf"^{row} ", out, re.M), row
    assert {file.name: file.read_bytes() for file in big.glob("*.sqlite")} == before
    lines = re.findall(r"^  UnitStore\(('.*'), encoder=…, index=(\{.*\})\)$", out, re.M)
    assert lines
    for path, index in lines:
        with UnitStore(ast.literal_eval(path), encoder=None, index=ast.literal_eval(index)) as store:
            assert len(store.search_by_vector(vectors(1)[0], 7, parents="unit")) == 7
            assert store.stats().kinds == ast.literal_eval(index) | dict(store.stats().kinds)


def test_the_fastest_and_smallest_kinds_of_enough_recall(report, big):
    found = report("tune", big, "--kinds", "Flat IVF32,Flat", "--queries", "30", "-k", "7")
    rows = {(row["kind"], *row["parameters"].values()): row["recall"] for row in found["rows"]}
    assert rows["Flat",] == 1 > rows["IVF32,Flat", 1]
    assert (found["vectors"], found["total"], found["queries"], found["held_out"]) == (1970, 2000, 30, True)
    assert found["fastest"]["recall"] >= 0.95
    assert found["smallest"]["bytes_per_vector"] <= found["fastest"]["bytes_per_vector"]


def test_questions_of_a_file_are_encoded(run, report, big, tmp_path, monkeypatch):
    asked = []

    def encode(texts):
        asked.append(list(texts))
        return vectors(len(texts), seed=1)

    encoder = SimpleNamespace(name="lines", encode_queries=encode, encode_units=encode)
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: encoder)
    file = tmp_path / "questions.txt"
    file.write_text("\ufeff3\n\n 5 \n7\n9\n", encoding="utf-8")
    command = ("tune", big, "--query-file", file, "--kinds", "Flat", "--queries", "3")
    found = report(*command)
    assert asked == [["3", "5", "7"]]
    assert (found["vectors"], found["queries"], found["held_out"]) == (2000, 3, False)
    assert "for each of 3 questions." in run(*command)[1]


def test_kinds_that_cannot_be_trained_are_named_with_what_they_need(run, big):
    code, out, err = run("tune", big, "--kinds", "IVF4096,SQ8", "--limit", "500")
    assert (code, err) == (0, "")
    assert "IVF4096,SQ8 is left out: it needs 159,744 vectors to be trained, and there are 500." in out
    assert "A sample of the 2,000 in the store (--limit)" in out
    assert "No kind reaches a recall of 0.95" in out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--granularity", "sentence"], "0 distinct vectors of sentences: too few"),
        (["--kinds", "Sphere"], "not a FAISS factory string"),
        (["-k", "0"], "k must be"),
        (["--queries", "0"], "must be at least 1, got 0"),
        (["--refine", "-1"], "refine must be at least 0"),
        (["--recall", "95"], "--recall must be from 0 to 1"),
        (["--query-file", "absent"], "No such file"),
        (["--query-file", "empty"], "holds no question"),
        (["--query-file", "latin"], "is not UTF-8"),
    ],
)
def test_what_cannot_be_measured_is_refused(fails, big, tmp_path, monkeypatch, options, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_bytes(b"\n \n")
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    assert problem in fails("tune", big, *options)


def test_a_small_store_can_be_measured(report, store):
    found = report("tune", store)
    assert {row["kind"] for row in found["rows"]} == {"Flat", "HNSW32"}
    assert (set(found["left_out"].values()), found["queries"]) == ({256}, 1)


@pytest.mark.parametrize("count", [1, 300, 5000, 10**9])
@pytest.mark.parametrize("dim", [384, 30])
def test_kinds_worth_a_try_exist_and_can_be_trained(count, dim):
    kinds = [check_kind(kind, dim) for kind in kinds_to_try(count)]
    assert kinds[0].exact
    assert any(kind.family == "lists" for kind in kinds) == (count >= 1000)
    assert all(kind.min_training <= max(count, 256) for kind in kinds)


def test_weights_are_fitted_to_questions_with_answers(run, report, fails, tmp_path):
    with UnitStore(tmp_path / "s", encoder=HashEncoder()) as store:
        store.add_documents(Document(f"The harbour of place{at} dates from year{at}.", id=str(at)) for at in range(30))
    file = tmp_path / "answers.jsonl"
    lines = (f'{{"question": "When did place{at} open?", "answers": ["year{at}"]}}\n' for at in range(30))
    file.write_text("".join(lines))
    code, out, _ = run("tune", tmp_path / "s", "--answers", file, "--dry-run")
    assert code == 0
    assert "30 questions, 30 with an answer" in out
    assert "the store keeps its weights" in out
    assert report("tune", tmp_path / "s", "--answers", file)["current"] == {"passage": 0.4, "lexical": 0.2}
    file.write_text('{"question": "When?"}\n')
    assert 'answers.jsonl:1: expected {"question"' in fails("tune", tmp_path / "s", "--answers", file)
