"""The command line as a whole: usage, exit codes, interrupts and pipes."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
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
        ["search", "s", "q", "-k", "many"],
        ["search", "s", "q", "--granularity", "word"],
        ["index", "x", "--store", "s", "--granularities", "passage,word"],
        ["index", "x", "--store", "s", "--granularities", "document"],
        ["store"],
        ["store", "export", "s"],
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
        ["store", "stats", "--json", tmp_path / "a"],
        ["search", "-k", "1", tmp_path / "a", "--json", "Vasa", "--granularity=sentence"],
    ):
        assert run(*argv)[0] == 0


@pytest.mark.parametrize(
    ("words", "completion"),
    [("ind", "index"), ("index --sim", "--similarity"), ("search s q --granularity mi", "mixed")],
)
def test_shells_complete_commands_options_and_choices(run, monkeypatch, words, completion):
    monkeypatch.setenv("_FACTOID_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"factoid {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    assert completion in run()[1].split()


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "factoid: interrupted\n"),
        (
            OSError(28, "No space left\non device"),
            1,
            "factoid: error: [Errno 28] No space left on device\n",
        ),
    ],
)
def test_an_interrupt_and_an_error_of_the_machine_end_in_one_line(
    run, docs, tmp_path, monkeypatch, error, code, line
):
    def fail(*_args):
        raise error

    monkeypatch.setattr(HashEncoder, "encode_units", fail)
    assert run("index", docs, "--store", tmp_path / "s") == (code, "", line)


def test_a_fault_of_ours_is_not_hidden(run, docs, tmp_path, monkeypatch):
    monkeypatch.setattr(HashEncoder, "encode_units", lambda *_args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("index", docs, "--store", tmp_path / "s")


def test_progress_shows_on_a_terminal_only_and_not_when_quiet(run, docs, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "passages" in run("split", docs)[2]
    assert run("index", docs, "--store", tmp_path / "s")[0] == 0
    for argv in (["split", docs, "--quiet"], ["index", docs, "--store", tmp_path / "s", "--quiet"]):
        assert run(*argv)[2] == ""


def test_main_leaves_logging_usable(run, docs, caplog):
    (docs / "photo.png").write_bytes(b"\xff")
    with caplog.at_level(logging.WARNING):
        run("split", docs)
    assert "skipped files of other kinds" in caplog.text


@pytest.fixture
def process(tmp_path):
    """`factoid split` as a process of its own, after its first line."""
    path = tmp_path / "a.txt"
    path.write_text("A short sentence. " * 200_000)
    argv = [sys.executable, "-m", "factoid", "split", path, "--granularity", "sentence"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        argv, env={**os.environ, "PYTHONIOENCODING": "utf-8"}, **options
    ) as process:
        assert json.loads(process.stdout.readline())["start"] == 0
        yield process


def test_a_reader_may_leave(process):
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1


def test_a_process_can_be_interrupted(process):
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode()) == (130, "factoid: interrupted\n")


@pytest.mark.parametrize(
    ("argv", "typed"),
    [
        (["index", "notes"], "Missing option '--store'. Type: factoid index PATH… --store DIR"),
        (["search", "facts"], "Missing argument 'QUESTION'. Type: factoid search STORE QUESTION"),
        (
            ["search", "--store", "facts", "Why?"],
            "No such option: --store. Type: factoid search STORE QUESTION [OPTIONS]",
        ),
        (["mcp", "--store=facts"], "No such option: --store. Type: factoid mcp STORE… [OPTIONS]"),
        (["store", "export", "facts"], "Missing argument 'FILE'."),
    ],
)
def test_wrong_usage_is_told_what_to_type(capsys, monkeypatch, argv, typed):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert typed in err
    assert "Possible" not in err
