"""`factoid clean` and `factoid tables`."""

from __future__ import annotations

import json

import pytest

from tests.documents.test_ingest import TEXT


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace("town.", "town :selected: and meas- ured yearly. They measured it twice.")
    (tmp_path / "wells.md").write_text(text, encoding="utf-8")
    return "wells.md"


def test_clean_prints_text_and_counts(file, run):
    code, out, err = run("clean", file)
    assert code == 0
    assert "The wells lie east of the town and measured yearly." in out
    assert "|" not in out
    assert (
        err
        == "1 table left out: see factoid tables wells.md\nwells.md: {'selection_marks': 1, 'hyphens': 1}\n"
    )
    code, out, err = run("clean", file, "--without", "hyphens", "--quiet")
    assert (code, err) == (0, "")
    assert "meas- ured" in out


def test_clean_as_json_can_be_indexed(file, run, tmp_path):
    parts = [json.loads(line) for line in run("clean", file, "--json", "-q")[1].splitlines()]
    assert [part["metadata"]["kind"] for part in parts] == ["text", "table"]
    assert parts[1]["metadata"]["source"] == "wells.md"
    path = tmp_path / "parts.jsonl"
    path.write_text("\n".join(map(json.dumps, parts)), encoding="utf-8")
    texts = [json.loads(line)["text"] for line in run("split", path, "-q")[1].splitlines()]
    assert "In Table 1, New well has Depth (m) of 54." in texts


def test_tables_in_every_form(file, run):
    markdown = "| Well | Depth (m) | Dug |\n| - | - | - |\n| Old well | 31 | 1870 |"
    assert run("tables", file)[1].startswith(markdown)
    record = json.loads(run("tables", file, "--json")[1])
    assert (record["source"], record["caption"][:7], record["pages"]) == ("wells.md", "Table 1", [])
    assert record["records"][1] == {"Well": "New well", "Depth (m)": "54", "Dug": "1988"}
    first, second = run("tables", file, file, "--sentences")[1].rstrip("\n").split("\n\n")
    assert first == second
    assert "In Table 1, Old well has Dug of 1870." in first.splitlines()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["clean", "absent.json"], "absent.json cannot be read: No such file"),
        (["clean", "wells.md", "--without", "nothing"], "rules are selection_marks, "),
        (["tables", "wells.md", "--json", "--sentences"], "give --json or --sentences"),
    ],
)
def test_what_cannot_be_done(file, arguments, problem, fails):
    assert problem in fails(*arguments)
