"""The command line as a whole: usage, exit codes, interrupts and pipes."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

from factoid.cli import main
from factoid.testing import HashEncoder


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["index", "x"],
        ["unknown"],
        ["search", "s"],
        ["search", "s", "q", "-k", "many"],
        ["search", "s", "q", "--granularity", "word"],
        ["index", "x", "--store", "s", "--granularities", "passage,word"],
        ["index", "x", "--store", "s", "--granularities", "document"],
        ["split", "x", "--propositionizer", "magic"],
        ["store"],
        ["store", "export", "s"],
        ["store", "merge", "s", "o", "--on-conflict", "both"],
    ],
)
def test_wrong_usage_exits_with_2(capsys, argv):
    assert main(argv) == 2
    assert "Usage: factoid" in "".join(capsys.readouterr())


def test_version_and_help(run):
    assert run("--version") == (0, f"factoid {version('factoid')}\n", "")
    for command in ([], ["index"], ["store", "copy"], ["batch"]):
        code, out, _ = run(*command, "--help")
        assert code == 0
        assert "Usage: factoid" in out


def test_options_stand_anywhere(run, docs, tmp_path):
    for argv in (
        ["index", "--store", tmp_path / "a", docs / "pisa.md", "--quiet", docs / "vasa.md"],
        ["index", docs / "pisa.md", "--quiet", docs / "vasa.md", "--store", tmp_path / "b"],
        ["store", "stats", "--json", tmp_path / "a"],
        ["search", "-k", "1", tmp_path / "b", "--json", "Vasa", "--granularity=sentence"],
    ):
        assert run(*argv)[0] == 0


def test_shells_complete_commands_options_and_choices(run, monkeypatch):
    for words, expected in (
        ("ind", "index"),
        ("index --sim", "--similarity"),
        ("search s q --granularity mi", "mixed"),
    ):
        monkeypatch.setenv("_FACTOID_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", f"factoid {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
        assert expected in run()[1].split()


def test_interrupt_exits_with_130(run, docs, tmp_path, monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(HashEncoder, "encode_units", interrupt)
    code, out, err = run("index", docs, "--store", tmp_path / "s")
    assert (code, out, err) == (130, "", "factoid: interrupted\n")


def test_an_error_of_the_machine_is_one_line_too(fails, docs, tmp_path, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left\non device")

    monkeypatch.setattr(HashEncoder, "encode_units", full)
    assert "No space left on device" in fails("index", docs, "--store", tmp_path / "s")


def test_a_fault_of_ours_is_not_hidden(docs, tmp_path, monkeypatch):
    monkeypatch.setattr(HashEncoder, "encode_units", lambda *_args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["index", str(docs), "--store", str(tmp_path / "s")])


def test_progress_shows_on_a_terminal_only_and_not_when_quiet(run, docs, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    _, _, err = run("split", docs)
    assert "passages" in err
    assert run("index", docs, "--store", tmp_path / "b")[0] == 0
    code, out, err = run("search", tmp_path / "b", "Vasa", "--json")
    assert (code, "searching" in err) == (0, True)
    assert json.loads(out)["hits"]
    for argv in (["split", docs, "--quiet"], ["index", docs, "--store", tmp_path / "s", "--quiet"]):
        assert run(*argv)[2] == ""


def test_main_leaves_logging_usable(run, docs, caplog):
    (docs / "photo.png").write_bytes(b"\xff")
    with caplog.at_level(logging.WARNING):
        run("split", docs)
    assert "skipped 1 file of another kind" in caplog.text


# as a process


def command(*argv, **options):
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.Popen(
        [sys.executable, "-m", "factoid", *map(str, argv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **options,
    )


def test_as_a_process_a_reader_may_leave(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("A short sentence. " * 20_000)
    with command("split", path, "--granularity", "sentence") as process:
        assert json.loads(process.stdout.readline())["start"] == 0
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


def test_as_a_process_it_can_be_interrupted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("A short sentence. " * 200_000)
    with command("split", path, "--granularity", "sentence") as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err.decode()) == (130, "factoid: interrupted\n")
        assert time.monotonic() - started < 30
