"""`factoid tune`."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit

pytest.importorskip("faiss")

DIM = 16


def vectors(count, seed=0):
    random = np.random.default_rng(seed)
    centres = random.standard_normal((20, DIM))
    return (
        centres[random.integers(0, 20, count)] + random.standard_normal((count, DIM)) / 2
    ).astype(np.float32)


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big"
    kind = {"granularity": Granularity.PROPOSITION, "document_id": "d", "parent_id": "p"}
    with UnitStore(path, encoder=None) as store:
        store.add(
            [Unit("", f"{at}", **kind, start=at, end=at + 1) for at in range(2000)],
            vectors=vectors(2000),
        )
    return path


def test_it_measures_kinds(run, report, big, tmp_path, monkeypatch):
    before = {file.name: file.read_bytes() for file in big.glob("*.sqlite")}
    code, out, err = run("tune", big, "-k", "5", "--kinds", "Flat SQ8 IVF32,Flat IVF4096,SQ8")
    assert (code, err) == (
        0,
        "factoid: IVF4096,SQ8 is left out: it needs 159744 vectors to be trained, and there are 1819\n",
    )
    assert re.search(r"^kind +search +recall +ms +bytes/vector +build, s$", out, re.M)
    for row in ("Flat +1.000", "SQ8", "IVF32,Flat +nprobe 16"):
        assert re.search(rf"^{row} ", out, re.M), row
    assert {file.name: file.read_bytes() for file in big.glob("*.sqlite")} == before
    asked = []

    def encode(texts):
        asked.append(list(texts))
        return vectors(len(texts), seed=1)

    encoder = SimpleNamespace(name="lines", encode_queries=encode, encode_units=encode)
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: encoder)
    file = tmp_path / "questions.txt"
    file.write_text("\ufeff3\n\n 5 \n7\n", encoding="utf-8")
    assert report("tune", big, "--query-file", file, "--kinds", "Flat")["rows"][0]["recall"] == 1
    assert asked == [["3", "5", "7"]]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--granularity", "sentence"], "0 distinct vectors of sentences: too few"),
        (["--kinds", "Sphere"], "not a FAISS factory string"),
        (["-k", "0"], "k must be"),
        (["--query-file", "absent"], "No such file"),
        (["--query-file", "empty"], "at least one question"),
    ],
)
def test_what_cannot_be_measured_is_refused(fails, big, tmp_path, monkeypatch, options, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_bytes(b"\n \n")
    assert problem in fails("tune", big, *options)


def test_weights_are_fitted_to_questions_with_answers(run, report, fails, tmp_path):
    with UnitStore(tmp_path / "s", encoder=HashEncoder()) as store:
        store.add_documents(
            Document(f"The harbour of place{at} dates from year{at}.", id=str(at))
            for at in range(30)
        )
    file = tmp_path / "answers.jsonl"
    lines = (
        f'{{"question": "When did place{at} open?", "answers": ["year{at}"]}}\n' for at in range(30)
    )
    file.write_text("".join(lines))
    code, out, _ = run("tune", tmp_path / "s", "--answers", file, "--dry-run")
    assert code == 0
    assert "30 questions, 30 with an answer" in out
    assert "the store keeps its weights" in out
    assert report("tune", tmp_path / "s", "--answers", file)["current"] == {
        "passage": 0.25,
        "lexical": 0.33,
    }
    file.write_text('{"question": "When?"}\n')
    assert 'answers.jsonl:1: expected {"question"' in fails(
        "tune", tmp_path / "s", "--answers", file
    )
