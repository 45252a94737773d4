"""What all tests share: no network but loopback, one small store, and where the real data lies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = [
    "tests.existing.servers"
]  # servers that several folders use, started when one does

# The same examples in every run, so that a run fails for what was changed. New ones:
# --hypothesis-profile=explore. No deadline: timings lie in benchmarks, and machines are loaded.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("same")

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# Tests interrupt themselves and their children; a run in the background may have been started with
# Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The sets of docs/data.md
DATA = Path(os.environ.get("FACTOID_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("network"):
        return
    try:
        from pytest_socket import socket_allow_hosts
    except ModuleNotFoundError:  # the core is also tested without any extra package
        return
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Close an event loop that a library left open.

    Its warning would come up in a later test, wherever Python collects it.
    """
    yield  # the loops of asynchronous tests are closed by their plugin
    local = getattr(asyncio.get_event_loop_policy(), "_local", None)
    loop = getattr(local, "_loop", None)
    if loop is not None and not loop.is_running():
        loop.close()
        asyncio.set_event_loop(None)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Converted models go to a folder of this run, and not into the user's."""
    folder = tmp_path_factory.mktemp("factoid-cache")
    os.environ["FACTOID_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip(f"needs the data sets of docs/data.md in {DATA}")
    return DATA
