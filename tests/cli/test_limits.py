"""`--limit` and `--follow-links`, wherever files are read."""

from __future__ import annotations

import json

import pytest

from tests.entities.importers.dumps import dump, page


@pytest.mark.parametrize(
    "command",
    [
        ("index", "--store", "s"),
        ("split",),
        ("estimate", "--model", "m"),
        ("clean",),
        ("tables",),
    ],
)
def test_a_limit_can_be_set_for_every_command_that_reads_files(run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.md"
    path.write_text("Salt. " * 100)
    verb, *options = command
    code, _, err = run(verb, path, *options, "--limit", "file_bytes=99")
    assert code == 1
    assert "a.md holds more than 99 bytes. If you trust the file, raise the limit" in err
    code, _, err = run(verb, path, *options, "--limit", "bytes=99")
    assert code == 1
    assert "expected a limit as in pages=20000" in err


def test_limits_of_sources_of_articles(fails, run, tmp_path):
    dumped = tmp_path / "wiki.xml"
    dumped.write_bytes(dump(page("Sea", "Salt water. " * 100)))
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"title": "Sea", "text": "Salt water. " * 100}))
    for source in (dumped, own):
        build = ("build-articles", tmp_path / "articles", source)
        assert "more than 999 bytes" in fails(*build, "--limit", "unpacked_bytes=999")
        assert run(*build, "--limit", "unpacked_bytes=9999")[0] == 0


def test_links_are_followed_only_if_that_is_asked_for(run, report, docs, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("The secret is out.")
    (docs / "link.md").symlink_to(outside)
    code, out, err = run("index", docs, "--store", tmp_path / "s")
    assert code == 0
    assert "2 documents indexed" in out
    skipped = f"factoid: skipped symbolic links in {docs}: 1; they may lead out of the folder; "
    assert err == skipped + "follow_links=True, or --follow-links, reads them\n"
    assert report("index", docs, "--store", tmp_path / "s", "--follow-links")["documents"] == 1
    assert "secret" in run("split", docs, "--follow-links", "-q")[1]
    assert "secret" not in run("split", docs, "-q")[1]


def test_sync_removes_what_links_led_to_when_it_is_gone(run, report, docs, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("The secret is out.")
    (docs / "link.md").symlink_to(outside)
    index = ("index", docs, "--store", tmp_path / "s", "--follow-links", "--sync")
    assert report(*index)["documents"] == 3
    (docs / "link.md").unlink()
    assert len(report(*index)["removed"]) == 1
    (docs / "link.md").symlink_to(outside)
    assert report(*index)["documents"] == 1
    outside.unlink()
    code, out, _ = run(*index)
    assert (code, "1 document removed" in out) == (0, True)
