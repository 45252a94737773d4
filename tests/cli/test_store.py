"""`factoid store`."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from factoid import UnitStore
from factoid.testing import HashEncoder
from tests.store.content import change


def held(path):
    with UnitStore(path, encoder=None) as store:
        return {unit.id: unit for unit in store.get(store.ids())}


def result(run, *argv):
    """Run a verb with --json; return what it prints."""
    code, out, err = run("store", *argv, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_stats(run, store):
    found = result(run, "stats", store)
    with UnitStore(store, encoder=None) as opened:
        assert found["units"] == opened.counts()
        stored = opened.vectors(opened.ids())
    assert found["documents"] == 2
    assert found["vectors"] == len({vector.tobytes() for vector in stored.values()})
    assert (found["encoder"], found["dim"], found["dtype"]) == ("HashEncoder(256)", 256, "float32")
    code, out, err = run("store", "stats", store)
    assert (code, err) == (0, "")
    assert re.search(r"^passages +3$", out, re.M)
    assert re.search(r"^distinct vectors +\d+ of 256 dimensions as float32$", out, re.M)


def test_verify_and_repair(run, store):
    assert result(run, "verify", store)["ok"] is True
    code, out, err = run("store", "verify", store)
    assert (code, err) == (0, "")
    assert out.endswith(": all is well\n")
    change(store, "DELETE FROM fields")
    code, out, err = run("store", "verify", store)
    assert code == 1
    assert "problem: filters would miss" in out
    assert err == f"factoid: error: the store at {store} has 1 problem\n"
    code, out, err = run("store", "verify", store, "--json")
    assert (code, json.loads(out)["ok"]) == (1, False)
    code, out, err = run("store", "verify", store, "--repair")
    assert (code, err) == (0, "")
    assert "mended: filters would miss" in out
    assert result(run, "verify", store)["ok"] is True


def test_compact(run, store):
    before = held(store)
    found = result(run, "compact", store, "--quiet")
    assert found["after"] <= found["before"]
    assert held(store) == before


def test_export_and_import(run, store, tmp_path):
    name = "facts.jsonl.gz"
    found = result(run, "export", store, tmp_path / name)
    assert found["units"] == len(held(store))
    assert [Path(file).exists() for file in found["files"]] == [True] * 3
    assert result(run, "import", tmp_path / "new", tmp_path / name) == {
        "units": found["units"],
        "documents": 2,
        "encoded": 0,
    }
    assert held(tmp_path / "new") == held(store)
    code, out, err = run("search", tmp_path / "new", "Did the Vasa sink?", "-k", "1", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["hits"][0]["unit"]["title"] == "Vasa"


def test_export_without_vectors_and_import_with_an_encoder(run, fails, store, tmp_path):
    file = tmp_path / "facts"
    run("store", "export", store, file, "--format", "jsonl", "--no-vectors")
    line = json.loads(file.read_text().splitlines()[0])
    assert "vector" not in line
    assert "no encoder" in fails("store", "import", tmp_path / "new", file, "--format", "jsonl")
    found = result(run, "import", tmp_path / "new", file, "--format", "jsonl", "--encoder", "hashed")
    assert found["encoded"] == found["units"] == len(held(store))
    with UnitStore(tmp_path / "new", encoder=HashEncoder()) as new, UnitStore(store, encoder=HashEncoder()) as old:
        assert [hit.score for hit in new.search("Vasa")] == [hit.score for hit in old.search("Vasa")]


def test_merge(run, fails, store, tmp_path):
    (tmp_path / "vasa.md").write_text("# Vasa\n\nShe was raised in 1961.\n")
    run("index", tmp_path / "vasa.md", "--store", tmp_path / "other")
    before, others = held(store), held(tmp_path / "other")
    found = result(run, "merge", store, tmp_path / "other")
    assert (found["units"], found["documents"]) == (len(others), 1)
    assert held(store) == before | others
    with UnitStore(tmp_path / "other", encoder=None) as opened:
        opened.update_metadata({"new": 1}, ids=list(others)[:1])
    assert "is in both stores" in fails("store", "merge", store, tmp_path / "other", "--on-conflict", "error")
    assert held(store) == before | others
    assert result(run, "merge", store, tmp_path / "other", "--on-conflict", "keep")["units"] == 0
    assert held(store) == before | others
    run("store", "merge", store, tmp_path / "other")
    assert held(store) == before | held(tmp_path / "other")


def test_delete_by_id_and_by_filter(run, fails, store, docs):
    units = held(store)
    pisa = {own for own, unit in units.items() if unit.metadata["source"].endswith("pisa.md")}
    first = next(own for own, unit in units.items() if unit.granularity == "sentence" and own not in pisa)
    assert result(run, "delete", store, first, "unknown") == {"deleted": 1}
    assert held(store).keys() == units.keys() - {first}
    condition = json.dumps({"source": (docs / "pisa.md").as_posix()})
    assert run("store", "delete", store, "--filter", condition) == (0, f"{len(pisa)} units deleted\n", "")
    assert held(store).keys() == units.keys() - {first} - pisa
    for argv, message in (
        ([], "takes ids, or --filter in their place"),
        (["a", "--filter", "{}"], "takes ids, or --filter in their place"),
        (["--filter", "{"], "--filter must be JSON, got '{'"),
        (["--filter", "[]"], r"--filter must be a JSON object of conditions, got '[]'"),
        (["--filter", "{}"], "clear() deletes everything"),
        (["--filter", '{"a": {"$like": 1}}'], "$like"),
    ):
        assert message in fails("store", "delete", store, *argv)
    assert held(store).keys() == units.keys() - {first} - pisa


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("answer", "deleted"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_delete_asks_on_a_terminal(run, store, monkeypatch, answer, deleted):
    before = held(store)
    monkeypatch.setattr(sys, "stdin", _Terminal(answer))
    condition = json.dumps({"source": {"$exists": True}})
    code, out, err = run("store", "delete", store, "--filter", condition)
    assert err.startswith(f"delete {len(before)} units from {store}, with all under them? [y/N] ")
    assert (code == 0) == deleted
    assert out == (f"{len(before)} units deleted\n" if deleted else "")
    assert len(held(store)) == (0 if deleted else len(before))
    monkeypatch.setattr(sys, "stdin", _Terminal(""))
    assert run("store", "delete", store, "x", "--yes") == (0, "0 units deleted\n", "")


def test_copy_and_fetch(run, fails, store, tmp_path):
    assert run("store", "copy", store, tmp_path / "copy") == (0, f"{tmp_path / 'copy'} is a copy of {store}\n", "")
    assert held(tmp_path / "copy") == held(store)
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/remote"
    assert result(run, "copy", store, url)["copy"] == url
    total = result(run, "fetch", tmp_path / "fetched", url)["total"]
    assert sum(total.values()) == len(held(store))
    assert held(tmp_path / "fetched") == held(store)
    assert "name a new folder" in fails("store", "fetch", store, url)


@pytest.mark.parametrize("verb", ["stats", "verify", "compact", "export", "merge", "delete", "copy"])
def test_no_verb_makes_a_store_that_is_not_there(fails, tmp_path, verb):
    given = {"export": ["x.jsonl"], "merge": ["other"], "delete": ["id"], "copy": ["to"]}.get(verb, [])
    assert "there is no store at" in fails("store", verb, tmp_path / "absent", *given)
    assert not list(tmp_path.iterdir())
