"""The other end of `worker`: contestants as processes that are told what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.store.contestant import CONTESTANTS
from benchmarks.store.corpus import Corpus

_ROOT = Path(__file__).resolve().parents[2]


class Failed(Exception):  # noqa: N818 - what the table says
    """A contestant cannot do what it was told; the text says why in few words."""


class Process:
    """A contestant's process over a built folder, or over an empty one that it is to fill."""

    def __init__(self, name: str, corpus: Corpus, work: Path) -> None:
        self.name = name
        folder = work / (CONTESTANTS[name].built_by or name)
        command = [sys.executable, "-m", "benchmarks.store.worker"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT, bufsize=1
        )
        try:
            self._send(name, [corpus.folder, str(folder)])
        except Failed:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def do(self, command: str, **options: Any) -> dict[str, Any]:
        """Return the answer to a command.

        Raises:
            Failed: The contestant cannot do it.
        """
        return self._send(command, options)

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _send(self, command: str, options: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        try:
            self._process.stdin.write(json.dumps([command, options]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            reason = f"its process ended with {self._process.wait()}"
            raise Failed(reason)
        answer: dict[str, Any] = json.loads(line)
        if "cannot" in answer:
            if "error" in answer:
                print(
                    f"  {self.name}, {command}: {answer['cannot']}: {answer['error']}",
                    file=sys.stderr,
                    flush=True,
                )
            raise Failed(answer["cannot"])
        return answer
