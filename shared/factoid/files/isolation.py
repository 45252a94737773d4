"""Run converters in a process of their own, with limits on time and memory.

Converters for PDFs and office files trust what they read: a PDF of 900 bytes can ask for a table of
four thousand million widths. What they do with a hostile file is bounded by ending their process.
The process is kept for the next file.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from threading import Event, Thread, Timer, stack_size
from typing import Any, NoReturn

from factoid.errors import FactoidError, MissingDependencyError, UnreadableFileError
from factoid.files.limits import ReadLimits

Converter = Callable[[Path, ReadLimits], Iterator[Any]]

_IDLE_SECONDS = 60  # a process that waits longer ends
# mammoth needs six frames for a level of a DOCX, which may have as many levels as `ReadLimits`
# allow, and its calls a stack.
_FRAMES = 10_000
_STACK = 64 << 20
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from factoid.files.isolation import serve; serve()"
)
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def run_isolated(
    converter: Converter, path: Path, limits: ReadLimits, receive: Callable[[Any], object]
) -> None:
    """Call a converter of a file in another process, and pass on each value that it yields.

    Args:
        converter: A function of a module, which yields what JSON can hold.
        path: The file.
        limits: For the converter; `seconds` and `memory_bytes` are those of its process.
        receive: Called with each value.

    Raises:
        UnreadableFileError, MissingDependencyError: The converter raises it.
        UnreadableFileError: The converter takes too much time or memory, or crashes.
    """
    if limits.seconds is None:
        for value in converter(path, limits):
            receive(value)
        return
    request = {
        "module": converter.__module__,
        "name": converter.__name__,
        "path": str(path),
        "folder": _current_folder(),
        "limits": asdict(limits),
    }
    reply = None
    while reply is None:
        worker = _idle_worker() or _Worker(path)
        try:
            reply = worker.answer(request, path, limits, receive)
        except BaseException:
            worker.stop()
            raise
        if reply is None or reply.get("error") == "memory":
            worker.stop()
        else:
            _IDLE.append(worker)
    _raise_error(reply, path, limits)


def _current_folder() -> str | None:
    with suppress(FileNotFoundError):
        return str(Path.cwd())
    return None


# The process that asks


class _Worker:
    """A process that converts files, one after the other."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable or "python", "-c", _START]
        try:
            self._process = subprocess.Popen(  # noqa: S603 (no shell, no text of a user)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | _ONE_THREAD,
            )
        except OSError as error:
            self._refuse_start(path, error)
        self._is_new = True

    def answer(
        self, request: Any, path: Path, limits: ReadLimits, receive: Callable[[Any], object]
    ) -> dict[str, Any] | None:
        """Send a request, pass on the values, and return the last reply.

        None if the process had ended while it was idle.
        """
        expired = Event()

        def expire() -> None:
            expired.set()
            self._process.kill()

        timer = Timer(limits.seconds or 0, expire)
        timer.daemon = True
        timer.start()
        try:
            with suppress(BrokenPipeError):
                self._send(request)
            reply = self._reply(path)
            if reply is None and not self._is_new and self._process.wait() == 0:
                return None
            while reply is not None and "value" in reply:
                receive(reply["value"])
                reply = self._reply(path)
            code = self._process.wait() if reply is None else 0
        finally:
            timer.cancel()
        if expired.is_set():
            limits.refuse(f"{path} takes", "seconds", "seconds to convert")
        if reply is None:
            _refuse_crash(path, limits, code)
        self._is_new = False
        return reply

    def forget(self) -> None:
        """Close the pipes of a process that belongs to the parent of this one."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.returncode = 0  # so that nobody waits for it here

    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(OSError):
            self._process.__exit__(None, None, None)  # closes the pipes and waits

    def _send(self, request: Any) -> None:
        assert self._process.stdin is not None  # noqa: S101 (for mypy)
        if self._is_new:
            self._process.stdin.write(_as_line(list(map(str, sys.path))))
        self._process.stdin.write(_as_line(request))
        self._process.stdin.flush()

    def _reply(self, path: Path) -> dict[str, Any] | None:
        assert self._process.stdout is not None  # noqa: S101 (for mypy)
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            return None
        try:
            reply = json.loads(line)
            if not isinstance(reply, dict):
                raise ValueError(f"it says {line!r:.40}")
        except ValueError as error:
            self._refuse_start(path, error)
        return reply

    def _refuse_start(self, path: Path, error: Exception) -> NoReturn:
        advice = (
            "Set sys.executable to Python, or convert in this process: ReadLimits(seconds=None)"
        )
        raise UnreadableFileError(
            f"{path} needs a process of its own to be converted, and {sys.executable!r} does not "
            f"start one: {error}. {advice}"
        ) from error


def _refuse_crash(path: Path, limits: ReadLimits, code: int) -> NoReturn:
    reason = f"signal {-code}" if code < 0 else f"exit code {code}"
    raise UnreadableFileError(
        f"{path} cannot be converted: the process that read it crashed ({reason}). The file is "
        f"damaged, or needs more than the {limits.memory_bytes:,} bytes of memory that "
        "ReadLimits(memory_bytes=…) or --limit memory_bytes=… allow"
    )


_IDLE: list[_Worker] = []


def _idle_worker() -> _Worker | None:
    while _IDLE:
        with suppress(IndexError):  # another thread took it
            worker = _IDLE.pop()
            if worker.is_running():
                return worker
            worker.stop()
    return None


@atexit.register
def _stop_idle() -> None:
    while _IDLE:
        _IDLE.pop().stop()


def _forget_idle() -> None:
    while _IDLE:
        _IDLE.pop().forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_idle)


def _raise_error(reply: dict[str, Any], path: Path, limits: ReadLimits) -> None:
    """Raise the error that a reply reports, if any."""
    message = str(reply.get("message"))
    match reply.get("error"):
        case None:
            return
        case "memory":
            limits.refuse(f"{path} needs", "memory_bytes", "bytes of memory to convert")
        case "dependency":
            raise MissingDependencyError(message)
        case _:
            raise UnreadableFileError(message)


def _as_line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


# The process that converts


def serve() -> None:
    """Answer requests on standard input until it is closed, or nothing has come for a minute."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    sys.setrecursionlimit(_FRAMES)
    stack_size(_STACK)
    server = Thread(target=_serve)
    server.start()
    server.join()


def _serve() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a converter prints is no reply
    warnings.simplefilter("ignore")
    with suppress(OSError):
        # If the machine runs out of memory, Linux ends this process before others.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    while line := _next_request():
        for reply in _replies(json.loads(line)):
            replies.write(_as_line(reply))
            replies.flush()
            if reply.get("error") == "memory":
                return


def _next_request() -> bytes:
    timer = Timer(_IDLE_SECONDS, os._exit, [0])
    timer.daemon = True
    timer.start()
    try:
        return sys.stdin.buffer.readline()
    finally:
        timer.cancel()


def _replies(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    path = Path(request["path"])
    limits = ReadLimits(**request["limits"])
    try:
        _limit_memory(limits.memory_bytes)
        if request["folder"] is not None:
            os.chdir(request["folder"])
        converter: Converter = getattr(import_module(request["module"]), request["name"])
        for value in converter(path, limits):
            yield {"value": value}
    except MissingDependencyError as error:
        yield {"error": "dependency", "message": str(error)}
    except Exception as error:  # noqa: BLE001 (whatever a converter raises is reported)
        if _is_memory_error(error):
            yield {"error": "memory"}
        elif isinstance(error, FactoidError):
            yield {"error": "unreadable", "message": str(error)}
        else:
            yield {
                "error": "unreadable",
                "message": f"{path} cannot be converted: {type(error).__name__}: {error!s:.200}",
            }
    else:
        yield {"done": True}


def _limit_memory(size: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size if most == resource.RLIM_INFINITY else min(size, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))


def _is_memory_error(error: BaseException | None) -> bool:
    """Return whether an error is a lack of memory, or comes from one."""
    while error is not None:
        if isinstance(error, MemoryError) or any(
            isinstance(part, MemoryError) for part in error.args
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
