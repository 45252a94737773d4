"""`factoid store`."""

from __future__ import annotations

import json
import re

import pytest

from factoid import UnitStore
from tests.store.content import change


def held(path):
    with UnitStore(path, encoder=None) as store:
        return {unit.id: unit for unit in store.get(store.ids())}


def test_stats_and_compact(run, report, store):
    found = report("store", "stats", store)
    assert (found["documents"], found["units"]["passage"], found["encoder"]) == (
        2,
        3,
        "HashEncoder(256)",
    )
    out = run("store", "stats", store)[1]
    assert re.search(r"^units: passage 3, proposition \d+$", out, re.M)
    found = report("store", "compact", store, "--quiet")
    assert found["after"] <= found["before"]


def test_verify_and_repair(run, report, store):
    assert report("store", "verify", store) == {"problems": [], "left": []}
    change(store, "DELETE FROM fields")
    code, out, err = run("store", "verify", store)
    assert (code, err) == (1, f"factoid: error: the store at {store} has 1 problem\n")
    assert out.startswith("filters would miss")
    code, out, err = run("store", "verify", store, "--repair", "--json")
    assert (code, json.loads(out)["left"], err) == (0, [], "")
    assert run("store", "verify", store) == (0, "all is well\n", "")


def test_export_import_and_copy(run, report, fails, store, tmp_path):
    units, bare = held(store), tmp_path / "bare.jsonl"
    exported = report("store", "export", store, tmp_path / "facts.jsonl")
    assert exported == {"records": len(units) + 2}
    assert report("store", "import", tmp_path / "imported", tmp_path / "facts.jsonl") == exported
    report("store", "export", store, bare, "--no-vectors")
    assert "no encoder" in fails("store", "import", tmp_path / "encoded", bare)
    assert report("store", "import", tmp_path / "encoded", bare, "--encoder", "hashed") == exported
    copied = f"{tmp_path / 'copied'} is a copy of {store}\n"
    assert run("store", "copy", store, tmp_path / "copied") == (0, copied, "")
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/remote.zip"
    assert report("store", "copy", store, url)["copy"] == url
    assert report("store", "copy", url, tmp_path / "fetched")["store"] == url
    assert "name a new folder" in fails("store", "copy", url, store)
    for name in ("imported", "encoded", "copied", "fetched"):
        assert held(tmp_path / name) == units


def test_merge(run, report, store, tmp_path):
    (tmp_path / "vasa.md").write_text("# Vasa\n\nShe was raised in 1961.\n")
    run("index", tmp_path / "vasa.md", "--store", tmp_path / "other")
    merge = ("store", "merge", store, tmp_path / "other")
    before, others = held(store), held(tmp_path / "other")
    merged = report(*merge)
    assert (merged["units"], merged["documents"], held(store)) == (len(others), 1, before | others)
    with UnitStore(tmp_path / "other", encoder=None) as opened:
        opened.update_metadata({"new": 1}, ids=list(others)[:1])
    assert report(*merge, "--keep")["replaced"] == 0
    assert held(store) == before | others
    assert f"replaced: {len(others)}\n" in run(*merge)[1]
    assert held(store) == before | held(tmp_path / "other")


def test_delete_by_id_and_by_filter(run, report, fails, store, docs):
    units = held(store)
    pisa = {id_ for id_, unit in units.items() if unit.metadata["source"].endswith("pisa.md")}
    first = next(
        id_ for id_, unit in units.items() if unit.granularity == "proposition" and id_ not in pisa
    )
    assert report("store", "delete", store, first, "unknown") == {
        "deleted": 1,
        "unknown": ["unknown"],
    }
    condition = json.dumps({"source": (docs / "pisa.md").as_posix()})
    assert run("store", "delete", store, "--filter", condition) == (
        0,
        f"{len(pisa)} units deleted\n",
        "",
    )
    assert held(store).keys() == units.keys() - {first} - pisa


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


def test_commands_make_no_store_and_take_no_address(fails, store, tmp_path):
    for verb, *arguments in (["stats"], ["delete", "id"], ["copy", "to"]):
        assert "there is no store at" in fails("store", verb, tmp_path / "absent", *arguments)
    assert not (tmp_path / "absent").exists()
    for command in (
        ["search", "s3://bucket/facts", "question"],
        ["store", "merge", store, "s3://bucket/facts"],
    ):
        assert "got 's3://bucket/facts': send it elsewhere with UnitStore.save_to(url)" in fails(
            *command
        )
