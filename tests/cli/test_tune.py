"""`factoid tune`, on vectors whose nearest neighbours are known by brute force."""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.index import check_kind, kinds_to_try
from factoid.testing import HashEncoder
from factoid.units import Granularity, make_unit

pytest.importorskip("faiss")

DIM = 16


def vectors(count, seed=0):
    random = np.random.default_rng(seed)
    centres = random.standard_normal((20, DIM))
    return (centres[random.integers(0, 20, count)] + random.standard_normal((count, DIM)) / 2).astype(np.float32)


def units(count, kind=Granularity.PROPOSITION):
    return [make_unit(f"Fact {at}.", kind, document_id="d", parent_id="p", start=at, end=at + 1) for at in range(count)]


class Lines:
    """Encodes questions "0", "1" … as vectors of their own, far from what is stored."""

    name = "lines"

    def encode_queries(self, texts):
        return vectors(100, seed=1)[[int(text) for text in texts]]

    encode_units = encode_queries


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big"
    with UnitStore(path, encoder=None) as store:
        store.add(units(2000), vectors=vectors(2000))
    return path


def tuned(run, *argv):
    code, out, err = run("tune", *argv, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_it_measures_kinds_and_proposes_lines_that_work(run, big):
    before = {file.name: file.read_bytes() for file in big.glob("*.sqlite")}
    code, out, err = run("tune", big, "--queries", "20", "-k", "5")
    assert (code, err) == (0, "")
    assert out.startswith(
        "The 5 best of 1,980 proposition vectors of 16 dimensions, by inner product, for each of 20 further"
    )
    assert re.search(r"^kind +search +recall +ms +ms \(95 %\) +bytes/vector +build, s$", out, re.M)
    assert re.search(r"^Flat +1\.000 ", out, re.M)
    for kind in ("SQ8", "HNSW32 +efSearch 64", "IVF32,Flat +nprobe 16"):
        assert re.search(rf"^{kind} +[01]\.\d{{3}} ", out, re.M), kind
    assert {file.name: file.read_bytes() for file in big.glob("*.sqlite")} == before
    lines = re.findall(r"^  UnitStore\(('.*'), encoder=…, index=(\{.*\})\)$", out, re.M)
    assert lines
    for path, index in lines:
        with UnitStore(ast.literal_eval(path), encoder=None, index=ast.literal_eval(index)) as store:
            assert len(store.search_by_vector(vectors(1)[0], 7, parents="unit")) == 7
            assert store.stats().kinds == ast.literal_eval(index) | dict(store.stats().kinds)
    for parameters in re.findall(r"--parameters '(.*)'", out):
        assert all(isinstance(value, int) for value in json.loads(parameters).values())


def test_recall_is_that_of_brute_force(run, big):
    found = tuned(run, big, "--kinds", "Flat IVF32,Flat", "--queries", "30", "-k", "7")
    rows = {(row["kind"], *row["parameters"].values()): row["recall"] for row in found["rows"]}
    assert rows["Flat",] == rows["IVF32,Flat", 16] == 1 or rows["IVF32,Flat", 16] > rows["IVF32,Flat", 1]
    assert rows["IVF32,Flat", 1] < 1
    assert (found["vectors"], found["total"], found["queries"], found["held_out"]) == (1970, 2000, 30, True)
    assert found["fastest"]["recall"] >= 0.95
    assert found["smallest"]["bytes_per_vector"] <= found["fastest"]["bytes_per_vector"]


def test_questions_of_a_file_are_encoded(run, big, tmp_path, monkeypatch):
    asked = []

    class Noted(Lines):
        def encode_queries(self, texts):
            asked.append(list(texts))
            return super().encode_queries(texts)

    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: Noted())
    file = tmp_path / "questions.txt"
    file.write_text("\ufeff3\n\n 5 \n7\n9\n", encoding="utf-8")
    found = tuned(run, big, "--query-file", file, "--kinds", "Flat", "--queries", "3")
    assert asked == [["3", "5", "7"]]
    assert (found["vectors"], found["queries"], found["held_out"]) == (2000, 3, False)
    assert "for each of 3 questions." in run("tune", big, "--query-file", file, "--kinds", "Flat", "--queries", "3")[1]


def test_kinds_that_cannot_be_trained_are_named_with_what_they_need(run, big):
    found = tuned(run, big, "--kinds", "Flat", "--kinds", "IVF4096,SQ8", "--limit", "500")
    assert found["left_out"] == {"IVF4096,SQ8": 4096 * 39}
    assert (found["vectors"], found["total"]) == (500, 2000)
    _, out, err = run("tune", big, "--kinds", "IVF4096,SQ8", "--limit", "500")
    assert err == ""
    assert "IVF4096,SQ8 is left out: it needs 159,744 vectors to be trained, and there are 500." in out
    assert "A sample of the 2,000 in the store (--limit)" in out
    assert "No kind reaches a recall of 0.95" in out


def test_what_is_not_there_is_refused(fails, big, store, tmp_path):
    assert "there is no store at" in fails("tune", tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    assert "0 distinct vectors of sentences: too few" in fails("tune", big, "--granularity", "sentence")
    assert "no FAISS factory string" in fails("tune", big, "--kinds", "Sphere")
    assert "k must be" in fails("tune", big, "-k", "0")
    for option in ("--queries", "--limit"):
        assert "must be at least 1, got 0" in fails("tune", big, option, "0")
    assert "refine must be at least 0" in fails("tune", big, "--refine", "-1")
    assert "--recall must be from 0 to 1" in fails("tune", big, "--recall", "95")
    file = tmp_path / "questions.txt"
    assert "No such file" in fails("tune", store, "--query-file", file)
    file.write_bytes(b"\n \n")
    assert "holds no question" in fails("tune", store, "--query-file", file)
    file.write_bytes(b"caf\xe9\n")
    assert "is not UTF-8" in fails("tune", store, "--query-file", file)
    file.write_text("Vasa?\n")
    assert "must be" in fails("tune", big, "--query-file", file, "--queries", "-1")


def test_a_store_of_another_encoder_says_which_option_names_it(fails, store, tmp_path, monkeypatch):
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: HashEncoder(7))
    file = tmp_path / "questions.txt"
    file.write_text("Vasa?\n")
    assert "--encoder" in fails("tune", store, "--query-file", file)


def test_a_small_store_can_be_measured(run, store):
    found = tuned(run, store)
    assert {row["kind"] for row in found["rows"]} == {"Flat", "HNSW32"}
    assert set(found["left_out"].values()) == {256}
    assert found["queries"] == 1


def test_the_store_can_be_asked_in_python():
    with UnitStore(encoder=Lines(), similarity="cosine") as store:
        store.add(units(40), vectors=vectors(40))
        report = store.tune(kinds=["Flat"], questions=["1", "2"], k=3)
        assert (report.similarity, report.queries, report.rows[0].recall) == ("cosine", 2, 1)
        assert report.fastest(1) == report.smallest(1) == report.rows[0]
        assert store.tune(kinds=["SQ8"]).fastest(0) is None


@pytest.mark.parametrize("count", [1, 300, 5000, 10**6, 10**9])
@pytest.mark.parametrize("dim", [16, 384, 30])
def test_kinds_worth_a_try_exist_and_can_be_trained(count, dim):
    kinds = [check_kind(kind, dim) for kind in kinds_to_try(count)]
    assert kinds[0].exact
    assert any(kind.family == "lists" for kind in kinds) == (count >= 1000)
    for kind in kinds:
        assert kind.min_training <= max(count, 256)


def test_weights_are_fitted_to_questions_with_answers(run, fails, tmp_path):
    documents = [Document(f"The harbour of place{at} dates from year{at}.", id=str(at)) for at in range(30)]
    with UnitStore(tmp_path / "s", encoder=HashEncoder()) as store:
        store.add_documents(documents)
    file = tmp_path / "answers.jsonl"
    file.write_text(
        "".join(f'{{"question": "When did place{at} open?", "answers": ["year{at}"]}}\n' for at in range(30))
    )
    code, out, _ = run("tune", tmp_path / "s", "--answers", file, "--dry-run")
    assert code == 0
    assert "30 questions, 30 with an answer" in out
    assert "the store weighs as before" in out
    report = json.loads(run("tune", tmp_path / "s", "--answers", file, "--json")[1])
    assert report["current"] == {"passage": 0.4, "lexical": 0.2}
    file.write_text('{"question": "When?"}\n')
    assert 'answers.jsonl:1: expected {"question"' in fails("tune", tmp_path / "s", "--answers", file)
