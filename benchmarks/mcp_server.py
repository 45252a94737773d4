"""How long calls to `factoid mcp` take: many at once, over HTTP, by the SDK's client.

    python -m benchmarks.mcp_server --documents 10000 --calls 100

A store of short documents, a passage and its sentences each, is made with the small encoder and
served by the command. A client sends all calls to a tool at once, after one that is not counted,
and each answer is checked: the right document, the right text, the right citation. Then come
hostile calls, all at once: each must be refused in one line. "p50" and "p95" are the seconds after
which a client has its answer when all calls are sent at the same moment, so that most of it is
waiting for the others; "alone" is the mean of ten calls one after another. Server and client share
the machine.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import anyio
import numpy as np
from mcp import Client

from factoid import Document, SentenceTransformerEncoder, UnitStore

Call = Callable[[int], Awaitable[None]]

START = 300.0  # seconds for the server to open the store
TRADES = ("baker", "cooper", "dyer", "miller", "potter", "saddler", "tanner", "weaver")
MEGABYTE = "x" * 1_000_000
HOSTILE: Sequence[tuple[str, dict[str, Any]]] = (
    ("search", {"question": MEGABYTE}),
    ("search", {"question": "x", "store": "../../etc"}),
    ("search", {"question": "x", "path": "/etc/passwd"}),
    ("search", {"question": "x", "filter": {"$where": "1"}}),
    ("search", {"question": "x", "filter": MEGABYTE}),
    ("search", {"question": "x", "filter": {"a": {"$any": list(range(30_000))}}}),
    ("read", {"id": "../../etc/passwd"}),
    ("read", {"id": MEGABYTE}),
    ("list_documents", {"count": 10**30}),
    ("cite", {"answer": MEGABYTE, "ids": ["d1"]}),
    ("cite", {"answer": "x", "ids": ["/etc/passwd"]}),
)


def name_of(number: int) -> str:
    """Return a name that no other number has, in letters, so that encoders tell them apart."""
    syllables = ("ba", "do", "ki", "lu", "me", "no", "ra", "si", "ta", "vo")
    return "".join(syllables[int(digit)] for digit in f"{number:05}").capitalize()


def document(number: int) -> Document:
    """Return a document of two sentences."""
    name, trade = name_of(number), TRADES[number % len(TRADES)]
    text = f"{name} was a {trade}. The workshop was opened in {1500 + number % 400}."
    return Document(text, id=f"d{number}", metadata={"page": number % 300 + 1})


@contextmanager
def served(store: Path, log: Path, *options: str) -> Iterator[str]:
    """Run the command, and yield its address; tests use it as well."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "factoid", "mcp", str(store), "--http", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen([*command, *options], stdout=output, stderr=output)
    try:
        _wait_for(port, process, log)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(60)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START
    while True:
        if process.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"the server did not start: {log.read_text(encoding='utf-8')}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the structured result of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise SystemExit(f"{tool} {arguments}: {result.content}")
    return result.structured_content


def check(got: object, expected: object) -> None:
    """End the benchmark if an answer is wrong."""
    if got != expected:
        raise SystemExit(f"expected {expected!r}, got {got!r}")


def calls_of(client: Client, documents: int, calls: int) -> dict[str, Call]:
    """Return a call for each tool; the numbers of calls are spread over all documents."""
    step = max(1, documents // calls)

    async def search(number: int) -> None:
        number *= step
        found = await ask(client, "search", question=f"What was {name_of(number)}?", k=5)
        check(f"d{number}" in [hit["document_id"] for hit in found["hits"]], True)

    async def read(number: int) -> None:
        read = await ask(client, "read", id=f"d{number * step}")
        check(read["passages"][0]["text"], document(number * step).text)

    async def listed(number: int) -> None:
        start = ""
        if number:
            start = f"d{number * step - 1}"
        found = await ask(client, "list_documents", start=start, count=20)
        check(found["documents"][0]["id"], f"d{number * step}")

    async def cite(number: int) -> None:
        ids = [f"d{number * step}", f"d{(number * step + 1) % documents}"]
        answer = f"{name_of(number * step)} was a {TRADES[number * step % len(TRADES)]}."
        cited = await ask(client, "cite", answer=answer, ids=ids)
        check([citation["number"] for citation in cited["citations"]], [1])

    return {"search": search, "read": read, "list_documents": listed, "cite": cite}


async def timed(call: Call, calls: int) -> tuple[list[float], float]:
    """Send calls at once; return the seconds of each, and of all."""
    seconds: list[float] = []

    async def one(number: int) -> None:
        begun = time.perf_counter()
        await call(number)
        seconds.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(calls):
            tasks.start_soon(one, number)
    return seconds, time.perf_counter() - begun


async def alone(call: Call, count: int) -> float:
    """Return the mean seconds of calls one after another."""
    begun = time.perf_counter()
    for number in range(count):
        await call(number)
    return (time.perf_counter() - begun) / count


async def refused(client: Client, rounds: int) -> int:
    """Send all hostile calls at once, several times; return how many were refused in one line."""
    lines: list[str] = []

    async def one(tool: str, arguments: dict[str, Any]) -> None:
        result = await client.call_tool(tool, arguments)
        text = "".join(getattr(part, "text", "") for part in result.content)
        if not result.is_error or "\n" in text or not 0 < len(text) < 400:
            raise SystemExit(f"{tool} was not refused in one line: {text[:1000]!r}")
        lines.append(text)

    async with anyio.create_task_group() as tasks:
        for _ in range(rounds):
            for tool, arguments in HOSTILE:
                tasks.start_soon(one, tool, arguments)
    return len(lines)


async def measure(address: str, documents: int, calls: int) -> None:
    """Print the table."""
    print("| tool | calls at once | calls/s | p50, s | p95, s | alone, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    async with Client(address) as client:
        for tool, call in calls_of(client, documents, calls).items():
            await call(0)
            one_by_one = await alone(call, min(10, calls))
            seconds, whole = await timed(call, calls)
            half, most = np.percentile(seconds, [50, 95])
            print(
                f"| `{tool}` | {calls} | {calls / whole:.0f} | {half:.2f} | {most:.2f} "
                f"| {one_by_one:.3f} |",
                flush=True,
            )
        count = await refused(client, max(1, calls // len(HOSTILE)))
        print(f"\n{count} hostile calls at once, each refused in one line")
        await calls_of(client, documents, calls)["search"](0)  # it still answers


def main() -> None:
    """Make the store, serve it and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        encoder = SentenceTransformerEncoder()
        with UnitStore(path, encoder=encoder, granularities=["sentence"]) as store:
            store.add_documents([document(number) for number in range(options.documents)])
            print(f"{len(store):,} units of {options.documents:,} documents\n", flush=True)
        with served(path, Path(folder) / "log", "--cite", "tokens") as address:
            anyio.run(measure, address, options.documents, options.calls)


if __name__ == "__main__":
    main()
