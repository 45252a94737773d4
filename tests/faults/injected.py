"""Processes in which the operating system fails: one call that changes a file returns an error, or
is the last one.

The process of a trial is forked from a server that has the library `injector.c` loaded before all
others, and everything that is slow to import.
"""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.faults.worker import ENVIRONMENT, ROOT

CAMPAIGN = int(
    os.environ.get("FACTOID_CAMPAIGN", "20")
)  # cases of each campaign where slow tests are run
# Seconds for one campaign on a busy machine; at the limit of all other tests, pytest itself ends.
CAMPAIGN_SECONDS = max(600, 20 * CAMPAIGN)
SOURCE = Path(__file__).with_name("injector.c")
LIMIT = 60  # seconds after which a process hangs
KILL = -1  # instead of an error


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at one of the calls that change files, or after some time."""

    call: int = 0  # the number of the call, from 1 on; 0 for none
    error: int = 0  # of errno, or KILL
    lasting: bool = False  # later calls fail, too
    torn: bool = False  # half of a write is done before it fails
    seconds: float = 0  # until a kill at any moment; 0 for none

    def __str__(self) -> str:
        if self.seconds:
            return f"a kill after {self.seconds:.4f} s"
        name = "a kill" if self.error == KILL else errno.errorcode.get(self.error, "nothing")
        extent = f"{' and all later ones' * self.lasting}{', half written' * self.torn}"
        return f"{name} at call {self.call}{extent}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a process ended, and what it said before."""

    ended: str  # "returned", "raised", "killed", "hung" or "crashed"
    said: list[Any]
    value: Any = None  # that the work returned
    error: str = ""  # that it raised: its message
    types: tuple[str, ...] = ()  # the names of its classes
    trace: str = ""
    again: str = ""  # the trace of the error of another try
    calls: int = 0  # that change files
    failures: int = 0  # of those


class Server:
    """Starts the processes.

    `functions` names a module with a dict FUNCTIONS: name to function of a folder and a callback.
    """

    def __init__(self, library: Path, functions: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.injected", functions],
            env=ENVIRONMENT | {"LD_PRELOAD": str(library)},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        name: str,
        folder: Path,
        temporary: Path,
        fault: Fault | None = None,
        *,
        retry: bool = False,
    ) -> Outcome:
        """Run a function in a process of its own, with a folder for temporary files; count the
        changes of files in both.

        With `retry`, it is called again there if it raises, and the first error is reported if that
        works.
        """
        places = {"folder": str(folder), "temporary": str(temporary)}
        request = {"name": name, **places, "retry": retry, "fault": asdict(fault or Fault())}
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the server has ended"
        return Outcome(**json.loads(answer))

    def close(self) -> None:
        """Stop the server."""
        self._process.stdin.close()
        try:
            self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def build(folder: Path) -> Path | None:
    """Compile the library into a folder; None if there is no compiler, or no Linux."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "injector.so"
    command = [
        compiler,
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        library,
        SOURCE,
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return library


def _serve(module: str) -> None:
    functions = __import__(module, fromlist=["FUNCTIONS"]).FUNCTIONS
    library = ctypes.CDLL(None)
    logging.disable(logging.CRITICAL)
    if find_spec("pyarrow"):
        import pyarrow.parquet  # noqa: F401 - slow
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(f"{json.dumps(_tried(functions, library, request))}\n")
        sys.stdout.flush()


def _tried(functions: Any, library: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Run a function in a forked process, and return the fields of an Outcome."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        _work(functions[request["name"]], library, request, writable)
    os.close(writable)
    seconds = request["fault"]["seconds"]
    content, in_time = _read(readable, seconds or LIMIT)
    if not in_time:
        os.kill(child, signal.SIGKILL)
        content += _read(readable, LIMIT)[0]
    os.close(readable)
    _, status = os.waitpid(child, 0)
    lines = [json.loads(line) for line in content.splitlines()]
    said = [line["said"] for line in lines if "said" in line]
    ended = next((line for line in lines if "ended" in line), None)
    if ended is None:
        was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        ended = {"ended": "crashed"}
        if was_killed:
            ended["ended"] = "killed" if in_time or seconds else "hung"
    return {"said": said, **ended}


def _read(source: int, seconds: float) -> tuple[bytes, bool]:
    """Read to the end of a pipe; return the content, and whether the end came in time."""
    end = time.monotonic() + seconds
    content = b""
    while select.select([source], [], [], max(0.0, end - time.monotonic()))[0]:
        block = os.read(source, 1 << 16)
        content += block
        if not block:
            return content, True
    return content, False


def _work(function: Any, library: Any, request: dict[str, Any], writable: int) -> None:
    folder, temporary, fault = request["folder"], request["temporary"], request["fault"]

    def send(record: dict[str, Any]) -> None:
        os.write(writable, f"{json.dumps(record)}\n".encode())

    for name in ("TMPDIR", "SQLITE_TMPDIR"):
        os.environ[name] = temporary
    # Python itself tries the folder with a small file, which a kill at that moment leaves there
    tempfile.tempdir = temporary
    outcome: dict[str, Any]
    values = [fault["call"], fault["error"], int(fault["lasting"]), int(fault["torn"])]
    library.injector_arm(os.fsencode(folder), os.fsencode(temporary), *values)
    try:
        value = function(Path(folder), lambda said: send({"said": said}))
        outcome = {"ended": "returned", "value": value}
    except BaseException as error:  # noqa: BLE001 - the test looks at it
        types = [kind.__name__ for kind in type(error).__mro__]
        outcome = {
            "ended": "raised",
            "error": str(error),
            "types": types,
            "trace": traceback.format_exc(),
        }
        if request["retry"]:
            try:
                function(Path(folder), lambda said: send({"said": said}))
            except BaseException:  # noqa: BLE001
                outcome["again"] = traceback.format_exc()
    library.injector_disarm()
    counts = {"calls": library.injector_count(), "failures": library.injector_failures()}
    send(outcome | counts)
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
