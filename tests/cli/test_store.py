"""`factoid store`."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from factoid import UnitStore
from factoid.units import Granularity, Unit
from tests.store.content import change


def held(path):
    with UnitStore(path, encoder=None) as store:
        return {unit.id: unit for unit in store.get(store.ids())}


def test_stats_and_compact(run, report, store):
    found = report("store", "stats", store)
    assert (found["documents"], found["units"]["passage"], found["encoder"]) == (2, 3, "HashEncoder(256)")
    out = run("store", "stats", store)[1]
    assert re.search(r"^passages +3$", out, re.M)
    assert re.search(r"^distinct vectors +\d+ of 256 dimensions as float32$", out, re.M)
    found = report("store", "compact", store, "--quiet")
    assert found["after"] <= found["before"]


def test_verify_and_repair(run, report, store):
    assert report("store", "verify", store)["ok"] is True
    change(store, "DELETE FROM fields")
    code, out, err = run("store", "verify", store)
    assert (code, err) == (1, f"factoid: error: the store at {store} has 1 problem\n")
    assert "problem: filters would miss" in out
    code, out, err = run("store", "verify", store, "--json")
    assert (code, json.loads(out)["ok"]) == (1, False)
    code, out, err = run("store", "verify", store, "--repair")
    assert (code, err) == (0, "")
    assert "mended: filters would miss" in out
    assert run("store", "verify", store)[1].endswith(": all is well\n")


def test_export_import_copy_and_fetch(run, report, fails, store, tmp_path):
    units, bare = held(store), tmp_path / "bare.jsonl"
    exported = report("store", "export", store, tmp_path / "facts.jsonl.gz")
    assert exported["units"] == len(units)
    assert all(Path(file).exists() for file in exported["files"])
    imported = report("store", "import", tmp_path / "imported", tmp_path / "facts.jsonl.gz")
    assert imported == {"units": len(units), "documents": 2, "encoded": 0}
    report("store", "export", store, bare, "--no-vectors")
    assert "no encoder" in fails("store", "import", tmp_path / "encoded", bare)
    imported = report("store", "import", tmp_path / "encoded", bare, "--encoder", "hashed")
    assert imported["encoded"] == len(units)
    copied = f"{tmp_path / 'copied'} is a copy of {store}\n"
    assert run("store", "copy", store, tmp_path / "copied") == (0, copied, "")
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/remote"
    assert report("store", "copy", store, url)["copy"] == url
    assert sum(report("store", "fetch", tmp_path / "fetched", url)["total"].values()) == len(units)
    assert "name a new folder" in fails("store", "fetch", store, url)
    for name in ("imported", "encoded", "copied", "fetched"):
        assert held(tmp_path / name) == units


def test_merge(run, report, fails, store, tmp_path):
    (tmp_path / "vasa.md").write_text("# Vasa\n\nShe was raised in 1961.\n")
    run("index", tmp_path / "vasa.md", "--store", tmp_path / "other")
    merge = ("store", "merge", store, tmp_path / "other")
    before, others = held(store), held(tmp_path / "other")
    merged = report(*merge)
    assert (merged["units"], merged["documents"], held(store)) == (len(others), 1, before | others)
    with UnitStore(tmp_path / "other", encoder=None) as opened:
        opened.update_metadata({"new": 1}, ids=list(others)[:1])
    assert "is in both stores" in fails(*merge, "--on-conflict", "error")
    assert report(*merge, "--on-conflict", "keep")["units"] == 0
    assert held(store) == before | others
    run(*merge)
    assert held(store) == before | held(tmp_path / "other")


def test_delete_by_id_and_by_filter(run, report, fails, store, docs):
    units = held(store)
    pisa = {id_ for id_, unit in units.items() if unit.metadata["source"].endswith("pisa.md")}
    first = next(id_ for id_, unit in units.items() if unit.granularity == "sentence" and id_ not in pisa)
    assert report("store", "delete", store, first, "unknown") == {"deleted": 1, "unknown": ["unknown"]}
    condition = json.dumps({"source": (docs / "pisa.md").as_posix()})
    assert run("store", "delete", store, "--filter", condition) == (0, f"{len(pisa)} units deleted\n", "")
    assert held(store).keys() == units.keys() - {first} - pisa


def test_delete_knows_documents_of_which_only_units_were_added(report, tmp_path):
    with UnitStore(tmp_path / "s", encoder=None) as made:
        passage = Unit("", "Anna sang.", Granularity.PASSAGE, document_id="d", parent_id="d", start=0, end=10)
        made.add([passage], vectors=[[1.0]])
    assert report("store", "delete", tmp_path / "s", "d", "e") == {"deleted": 1, "unknown": ["e"]}


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ([], "takes either ids or --filter"),
        (["a", "--filter", "{}"], "takes either ids or --filter"),
        (["--filter", "{"], "--filter must be JSON, got '{'"),
        (["--filter", "[]"], "--filter must be a JSON object of conditions, got '[]'"),
        (["--filter", "{}"], "clear() deletes everything"),
    ],
)
def test_what_is_not_deleted(fails, store, argv, problem):
    before = held(store)
    assert problem in fails("store", "delete", store, *argv)
    assert held(store) == before


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("answer", "deleted"), [("y\n", True), ("YES\n", True), ("n\n", False), ("", False)])
def test_delete_asks_on_a_terminal(run, store, monkeypatch, answer, deleted):
    before = held(store)
    monkeypatch.setattr(sys, "stdin", _Terminal(answer))
    condition = json.dumps({"source": {"$exists": True}})
    code, _, err = run("store", "delete", store, "--filter", condition)
    assert err.startswith(f"delete {len(before)} units from {store}, with all under them? [y/N] ")
    assert (code, len(held(store))) == ((0, 0) if deleted else (1, len(before)))
    monkeypatch.setattr(sys, "stdin", _Terminal(""))
    assert run("store", "delete", store, "x", "--yes") == (0, "0 units deleted\nnot in the store: x\n", "")


@pytest.mark.parametrize(
    "verb", ["stats", "verify", "compact", "export x.jsonl", "merge other", "delete id", "copy to"]
)
def test_no_verb_makes_a_store_that_is_not_there(fails, tmp_path, verb):
    verb, *arguments = verb.split()
    for name in ("absent", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert "there is no store at" in fails("store", verb, tmp_path / name, *arguments)
    assert [*tmp_path.rglob("*")] == [tmp_path / "empty"]


def test_an_address_in_place_of_a_store_is_refused_with_the_commands_that_take_one(fails, store, docs):
    url = "s3://bucket/facts"
    for command in (
        ["index", docs, "--store", url],
        ["search", url, "question"],
        ["tune", url],
        ["store", "stats", url],
        ["store", "merge", store, url],
        ["store", "fetch", url, store],
    ):
        message = fails(*command)
        assert f"got {url!r}: send it elsewhere with UnitStore.save_to(url) or factoid store copy" in message
