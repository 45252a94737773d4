"""`factoid build`."""

from __future__ import annotations

import inspect
import json
import sys
from importlib.util import find_spec

import pytest

from factoid import UnitStore
from factoid.testing import HashEncoder

pytestmark = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")


def test_build_makes_shards_that_a_store_imports(run, report, docs, tmp_path):
    command = ("build", docs, "--out", tmp_path / "shards")
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert "shards holds 2 documents in 1 shard (1 made now" in out
    assert "3 passages → 6 propositions" in out
    assert "Table 1. Statistics of text units" in out
    assert "| Proposition | 6 (256,885,003) |" in out
    counts = report(*command)
    assert (counts["documents"], counts["new_shards"]) == (2, 0)
    assert counts["units"] == {"passage": 3, "proposition": 6}
    (shard,) = (tmp_path / "shards").glob("*.parquet")
    with UnitStore(tmp_path / "store", encoder=HashEncoder()) as store:
        store.import_from(shard)
        assert store.search("When did the Vasa sink?", k=1)[0].unit.title == "Vasa"


def test_build_records_what_it_leaves_out_and_says_so(run, docs, tmp_path):
    lines = [json.dumps({"text": f"Bob slept {number} hours."}) for number in range(3)]
    (docs / "notes.jsonl").write_text("\n".join([*lines, *["no JSON"] * 7]), encoding="utf-8")
    command = ("build", docs, "--out", tmp_path / "shards")
    for _ in range(2):
        code, out, err = run(*command)
        assert code == 1
        assert "holds 5 documents" in out
        assert err.startswith("factoid: error: 7 documents left out; all others are built:")
        assert err.count("not JSON") == 5
        assert "the manifests of the shards name the others" in err
        assert err.count("\n") == 1
    (manifest,) = (tmp_path / "shards").glob("part-*.json")
    assert len(json.loads(manifest.read_text())["failures"]) == 7


def test_build_refuses_in_one_line(fails, docs, tmp_path, monkeypatch):
    shards = tmp_path / "shards"
    assert "absent does not exist" in fails("build", tmp_path / "absent", "--out", shards)
    assert "standard input cannot be read again" in fails("build", "-", "--out", shards)
    assert not shards.exists()
    monkeypatch.setitem(sys.modules, "ray", None)
    assert 'pip install "factoid[scale]"' in fails("build", docs, "--out", shards, "--ray", "local")
    assert not shards.exists()
    assert "must be a JSON object" in fails(
        "build", docs, "--out", shards, "--storage-options", "[]"
    )


def test_build_names_what_differs(run, fails, docs, tmp_path):
    command = ("build", docs, "--out", tmp_path / "shards")
    assert run(*command)[0] == 0
    message = fails(*command, "--words", "80", "--unsupported", "keep")
    assert "min_words was 50, and is 40" in message
    assert 'unsupported was "drop", and is "keep"; words was 100, and is 80' in message


def test_the_defaults_are_those_of_the_library():
    from factoid.cli.build import build
    from factoid.scale import RayOptions
    from factoid.scale import build as build_shards

    command = inspect.signature(build).parameters
    library = inspect.signature(build_shards).parameters
    for name in ("shard_characters", "most_characters", "unsupported", "cache"):
        assert command[name].default == library[name].default
    granularities = command["granularities"].default.split(",")
    assert granularities == list(library["granularities"].default)
    for name in ("workers", "cpus", "gpus"):
        assert command[name].default == getattr(RayOptions(), name)
