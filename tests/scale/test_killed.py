"""Workers and drivers that are killed: nothing is lost or doubled, and a deadly document is left out."""

from __future__ import annotations

import os
import random
import signal
import time
from importlib.util import find_spec

import pytest

from benchmarks.building import workers_of
from factoid.scale import read_shards
from tests.faults.worker import PATIENCE, apart
from tests.scale.corpus import content, write_corpus
from tests.scale.processes import end, finished, started, wait_for_shards
from tests.scale.program import DEADLY, run

pytestmark = [
    pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow"),
    pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs sessions of processes"),
]
needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="needs ray: pip install --group scale"
)


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def expected(tmp_path, corpus):
    """What an undisturbed build in this process holds."""
    run(str(corpus), tmp_path / "expected")
    return content(tmp_path / "expected")


def test_a_killed_build_goes_on(tmp_path, corpus, expected):
    folder = tmp_path / "shards"
    options = {"inputs": str(corpus), "folder": str(folder), "pause": 0.1}
    process = started(**options)
    try:
        wait_for_shards(process, folder, 2)
    finally:
        end(process)
    before = content(folder)
    assert 0 < len(before) < len(expected)
    for name, shard in before.items():
        if name.endswith(".parquet"):
            assert shard == expected[name]
    report = run(str(corpus), folder)
    assert content(folder) == expected
    assert report.new_shards < report.shards


def test_a_document_that_kills_its_worker_is_left_out(tmp_path, corpus, expected):
    (corpus / "venom.txt").write_text(f"He gave her {DEADLY} in the tower of Vim.")
    folder = tmp_path / "shards"
    ends = []
    while not ends or ends[-1] == -signal.SIGKILL:
        process = started(inputs=str(corpus), folder=str(folder))
        try:
            process.communicate(timeout=120)
        finally:
            end(process)
        ends.append(process.returncode)
    assert ends == [-signal.SIGKILL] * 5 + [0]
    failures = []
    documents = []
    for shard in read_shards(folder):
        failures += shard.manifest.failures
        documents += shard.read().documents
    (failure,) = failures
    assert failure.place == f"{corpus}/venom.txt, document 1"
    assert failure.error.startswith("its worker was killed")
    assert len(documents) == 14
    left = [file.name for file in folder.iterdir() if file.name.startswith(".")]
    assert left in ([], [".build.lock"])


@needs_ray
def test_ray_makes_the_same_shards(tmp_path, corpus, expected):
    folder = tmp_path / "shards"
    finished(started(inputs=str(corpus), folder=str(folder), workers=2))
    assert content(folder) == expected


@needs_ray
def test_a_killed_worker_of_ray_is_replaced(tmp_path, corpus, expected):
    folder = tmp_path / "shards"
    process = started(inputs=str(corpus), folder=str(folder), workers=2, pause=0.05)
    try:
        wait_for_shards(process, folder, 1)
        workers = workers_of(process.pid)
        assert workers
        os.kill(workers[0], signal.SIGKILL)
        finished(process)
    finally:
        end(process)
    assert content(folder) == expected


@needs_ray
def test_an_error_on_ray_is_that_of_this_process(tmp_path, corpus):
    folder = tmp_path / "shards"
    process = started(inputs=str(corpus), folder=str(folder), workers=2, broken=True)
    try:
        _, err = process.communicate(timeout=240)
    finally:
        end(process)
    assert process.returncode == 1
    assert "PropositionizerError: expected one list of strings for each" in err
    assert "RayTaskError" not in err
    assert content(folder) == {}


@needs_ray
@pytest.mark.slow
def test_random_kills(tmp_path, corpus, expected):
    choice = random.Random(7)
    for trial in range(6):
        folder = tmp_path / f"shards {trial}"
        options = {"inputs": str(corpus), "folder": str(folder), "workers": 2, "pause": 0.02}
        process = started(**options)
        try:
            wait_for_shards(process, folder, 1)
            time.sleep(choice.uniform(0, 1.5))
            if trial % 2:
                end(process)  # the driver, and all of Ray
                process = started(**options)
            else:
                for worker in workers_of(process.pid)[:1]:
                    os.kill(worker, signal.SIGKILL)
            finished(process)
        finally:
            end(process)
        assert content(folder) == expected


def test_an_interrupted_build_goes_on(tmp_path, corpus, expected):
    folder = tmp_path / "shards"
    process = started(inputs=str(corpus), folder=str(folder), pause=0.1)
    try:
        wait_for_shards(process, folder, 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        end(process)
    assert "KeyboardInterrupt" in err
    finished = min(file.stem for file in folder.glob("*.parquet"))
    (folder / f".{finished}.attempts").write_text("{}")  # as an interrupt in the last moment does
    run(str(corpus), folder)
    assert content(folder) == expected
    hidden = [file.name for file in folder.iterdir() if file.name.startswith(".")]
    assert hidden in ([], [".build.lock"])


def on_a_full_disk(corpus, folder):
    """Build where no file may be larger than some bytes, then where it may; return the error."""
    import resource

    from factoid.errors import StoreError

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (7_000, hard))
    try:
        run(str(corpus), folder)
    except StoreError as error:
        message = str(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    left = sorted(file.name for file in folder.iterdir())
    run(str(corpus), folder)
    return message, left


def test_a_full_disk_is_one_clear_error(tmp_path, corpus, expected):
    pytest.importorskip("resource")
    folder = tmp_path / "shards"
    message, left = apart(on_a_full_disk, corpus, folder).get(PATIENCE)
    assert "cannot be written to" in message
    assert "File too large" in message
    assert not [name for name in left if name.endswith((".part", ".attempts"))]
    for name in left:
        if name.endswith(".parquet"):
            assert (folder / name).stat().st_size <= 7_000
    assert content(folder) == expected
