"""`factoid clean` and `factoid tables`."""

from __future__ import annotations

import csv
import io
import json

import pytest

from factoid.cli import main
from tests.documents.test_ingest import TEXT


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "wells.md"
    path.write_text(
        TEXT.replace("town.", "town :selected: and meas- ured yearly. They measured it twice."), encoding="utf-8"
    )
    return "wells.md"


def test_clean_prints_text_and_counts(file, capsys):
    assert main(["clean", file]) == 0
    printed = capsys.readouterr()
    assert "The wells lie east of the town and measured yearly." in printed.out
    assert "|" not in printed.out
    assert printed.err == ("1 table left out: factoid tables wells.md\nwells.md: 1 selection marks, 1 hyphens\n")
    assert main(["clean", file, "--without", "hyphens", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert "meas- ured" in printed.out
    assert printed.err == ""


def test_clean_as_json_can_be_indexed(file, capsys, tmp_path):
    assert main(["clean", file, "--json", "-q"]) == 0
    parts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [part["metadata"]["kind"] for part in parts] == ["text", "table"]
    assert parts[1]["metadata"]["source"] == "wells.md"
    path = tmp_path / "parts.jsonl"
    path.write_text("\n".join(map(json.dumps, parts)), encoding="utf-8")
    assert main(["split", str(path), "-q"]) == 0
    texts = [json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()]
    assert "In Table 1, New well has Depth (m) of 54." in texts


def test_tables_in_every_form(file, capsys):
    assert main(["tables", file]) == 0
    assert capsys.readouterr().out.startswith("| Well | Depth (m) | Dug |\n| - | - | - |\n| Old well | 31 | 1870 |")
    assert main(["tables", file, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [["Well", "Depth (m)", "Dug"], ["Old well", "31", "1870"], ["New well", "54", "1988"]]
    assert main(["tables", file, "--json", "--table", "1"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["rows"], record["columns"], record["table"]) == (3, 3, 1)
    assert record["records"][1] == {"Well": "New well", "Depth (m)": "54", "Dug": "1988"}
    assert main(["tables", file, file, "--sentences"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("In Table 1, Old well has Dug of 1870.\n") == 2
    assert record["sentences"] == printed.split("\n\n")[0].splitlines()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["clean", "absent.json"], "absent.json is no file"),
        (["clean", "wells.md", "--without", "nothing"], "--without takes one of selection_marks, "),
        (["tables", "wells.md", "--table", "2"], "wells.md has 1 tables: --table takes a number"),
        (["tables", "wells.md", "--csv", "--json"], "give one of --json, --csv and --sentences"),
    ],
)
def test_what_cannot_be_done(file, arguments, told, capsys):
    assert main(arguments) == 1
    assert told in capsys.readouterr().err
