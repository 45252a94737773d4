"""The programs of docs/llama-index.md run, one after the other, and do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import fsspec

PAGE = Path(__file__).resolve().parents[2] / "docs" / "llama-index.md"


def test_the_page(tmp_path, monkeypatch, capsys, embed_model):
    monkeypatch.chdir(tmp_path)
    names = {"embed_model": embed_model}
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), names)
    passage, matches, neighbours, documents, retrieved, got = capsys.readouterr().out.splitlines()
    assert passage == "The tower of Pisa leans. It was finished in 1372."
    assert "'text': 'The tower of Pisa leans.'" in matches
    assert "'granularity': 'sentence'" in neighbours
    assert documents.startswith("['pisa'")
    assert retrieved == "1"
    pisa = [node for node in names["store"].get_nodes() if node.ref_doc_id == "pisa"]
    assert int(got) == len(pisa) >= 5
    assert (tmp_path / "kept" / "default__vector_store.json" / "units.sqlite").exists()
    assert names["copy"].get_nodes() == names["again"].vector_store.get_nodes() == names["store"].get_nodes()
    options = set(re.findall(r"^\| `(\w+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"granularity", "refine", "index", "device", "read_only"} <= options
    for name in ("small", "store", "copy"):
        names[name].close()
    fsspec.filesystem("memory").store.clear()
