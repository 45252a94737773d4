"""Converters in processes of their own: kept, ended, started again, and reported in one error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from factoid.errors import MissingDependencyError, UnreadableFileError
from factoid.files import isolation
from factoid.files.isolation import run_isolated
from factoid.files.limits import ReadLimits
from tests.files import converters_for_tests as converters

LIMITS = ReadLimits(seconds=60)
FILE = Path("a file.pdf")


@pytest.fixture(autouse=True)
def no_process_is_left():
    isolation._stop_idle()
    yield
    isolation._stop_idle()


def run(converter, limits=LIMITS):
    values = []
    run_isolated(converter, FILE, limits, values.append)
    return values


def test_values_come_back_from_another_process(tmp_path, monkeypatch):
    limits = ReadLimits(pages=7)
    (first,) = run(converters.report, limits)
    monkeypatch.chdir(tmp_path)
    (second,) = run(converters.report, limits)
    assert first["pid"] == second["pid"] != os.getpid(), "the process is kept"
    assert (second["folder"], second["path"], second["pages"]) == (str(tmp_path), str(FILE), 7)
    assert second["text"] == "ü\ud83d\n"
    (here,) = run(converters.report, ReadLimits(seconds=None))
    assert here["pid"] == os.getpid()


@pytest.mark.parametrize(
    ("converter", "error", "message"),
    [
        (converters.refuse, UnreadableFileError, r"^a file\.pdf is not for us$"),
        (converters.lack, MissingDependencyError, r"^'ink' is not installed$"),
        (
            converters.fail,
            UnreadableFileError,
            r"^a file\.pdf cannot be converted: KeyError: 'chapter'$",
        ),
        (
            converters.recurse,
            UnreadableFileError,
            r"^a file\.pdf cannot be converted: RecursionError",
        ),
        (
            converters.allocate,
            UnreadableFileError,
            r"^a file\.pdf needs more than 500,000,000 bytes of memory to convert",
        ),
        (converters.crash, UnreadableFileError, r"the process that read it crashed \(signal 6\)"),
        (
            converters.leave,
            UnreadableFileError,
            r"the process that read it crashed \(exit code 0\)",
        ),
        (
            converters.exit_early,
            UnreadableFileError,
            r"the process that read it crashed \(exit code 0\)",
        ),
    ],
)
def test_what_goes_wrong_is_one_error_and_the_next_file_is_read(converter, error, message):
    limits = ReadLimits(seconds=60, memory_bytes=500_000_000)
    for _ in range(2):  # with a new process, and with one that has answered
        with pytest.raises(error, match=message):
            run(converter, limits)
        assert len(run(converters.report)) == 1


def test_a_converter_that_never_ends_is_ended():
    started = []
    began = time.perf_counter()
    with pytest.raises(
        UnreadableFileError,
        match=r"a file\.pdf takes more than 1\.5 seconds to convert\. If you trust",
    ):
        run_isolated(converters.sleep, FILE, ReadLimits(seconds=1.5), started.append)
    assert 1.4 < time.perf_counter() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_an_interrupt_ends_the_process():
    started = []

    def interrupt(pid):
        started.append(pid)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_isolated(converters.sleep, FILE, LIMITS, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_an_idle_process_that_was_killed_or_has_left_is_replaced():
    for end in (signal.SIGKILL, signal.SIGTERM):
        (first,) = run(converters.report)
        os.kill(first["pid"], end)
        time.sleep(0.1)
        (second,) = run(converters.report)
        assert first["pid"] != second["pid"]


def test_a_process_that_leaves_as_it_is_asked_is_replaced(monkeypatch):
    (first,) = run(converters.report)
    os.kill(first["pid"], signal.SIGSTOP)
    (worker,) = isolation._IDLE
    worker._process.stdin.close()  # it will see the end of its input, and leave with code 0
    worker._process.stdin = open(os.devnull, "wb")  # noqa: SIM115, PTH123
    threading.Timer(0.2, os.kill, [first["pid"], signal.SIGCONT]).start()
    (second,) = run(converters.report)
    assert first["pid"] != second["pid"]


def test_threads_have_processes_of_their_own():
    pids = []
    together = threading.Barrier(3)

    def meet(value):
        pids.append(value["pid"])
        together.wait(30)

    threads = [
        threading.Thread(target=run_isolated, args=(converters.report, FILE, LIMITS, meet))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*pids}) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_its_own():
    script = """
import os
from pathlib import Path
from factoid.files.isolation import run_isolated
from factoid.files.limits import ReadLimits
from tests.files.converters_for_tests import report
def pid():
    values = []
    run_isolated(report, Path("a"), ReadLimits(), values.append)
    return values[0]["pid"]
before = pid()
readers, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, f"{pid()} {pid()}".encode())
    os._exit(0)
os.waitpid(child, 0)
first, second = os.read(readers, 100).split()
assert first == second != str(before).encode(), (first, second, before)
assert pid() == before
"""
    subprocess.run(
        [sys.executable, "-W", "error", "-c", script], check=True, timeout=60, env=with_paths()
    )


def test_a_script_ends_with_its_processes():
    script = """
from pathlib import Path
from factoid.files.isolation import run_isolated
from factoid.files.limits import ReadLimits
from tests.files.converters_for_tests import report
run_isolated(report, Path("a"), ReadLimits(), lambda value: print(value["pid"]))
"""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(
        command, check=True, timeout=60, env=with_paths(), capture_output=True, text=True
    )
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def with_paths():
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


@contextmanager
def executable(monkeypatch, path):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", path)
        yield


@pytest.mark.parametrize("path", ["/bin/echo", "/nowhere/python"])
def test_a_program_that_is_not_python_is_named(monkeypatch, path):
    with (
        executable(monkeypatch, path),
        pytest.raises(
            UnreadableFileError,
            match=rf"'{path}' does not start one: .* ReadLimits\(seconds=None\)",
        ),
    ):
        run(converters.report)
