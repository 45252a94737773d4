"""Publishing stores, replicas that follow them, stores of tenants, backups and another encoder, as
docs/production.md says.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factoid import UnitStore
from factoid.errors import EncoderMismatchError, StoreError, StoreFormatError
from factoid.testing import HashEncoder
from tests.faults.worker import ENVIRONMENT, PATIENCE, apart
from tests.production.service import (
    FOLDER,
    TOKENS,
    app,
    backup,
    document,
    filled,
    opened,
    reencode,
    stores,
    tenants,
)
from tests.volumes import read_only_mount

testclient = pytest.importorskip("fastapi.testclient")


def reader(path):
    return opened(path, read_only=True)


def documents_of(store):
    return {
        hit.unit.document_id
        for hit in store.search("Which town lies on hill 3?", k=50, parents="document")
    }


def wait_for(what):
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_published_copies_are_whole_and_old_ones_are_removed(tmp_path):
    folder = tmp_path / "published"
    with opened(tmp_path / "store") as store:
        for number in range(5):
            store.add_documents([document(number)])
            target = stores.publish(store.copy_to, folder, keep=3)
            assert (folder / "current").resolve() == target
            with reader(target) as copy:
                assert copy.ids() == store.ids()
    assert len(stores.published(folder)) == 3
    assert sorted(path.name for path in folder.iterdir()) == [
        *(p.name for p in stores.published(folder)),
        "current",
    ]


def test_a_replica_on_a_read_only_volume_follows_without_a_wrong_answer(tmp_path):
    folder = tmp_path / "published"
    expected = []
    with opened(tmp_path / "store") as store:
        store.add_documents([document(0)])
        stores.publish(store.copy_to, folder)
        expected.append(documents_of(store))
        with read_only_mount(folder, tmp_path / "mount") as mount:
            settings = app.Settings(mount, TOKENS, read_only=True, follow=0.05)
            with testclient.TestClient(app.create_app(settings, HashEncoder())) as client:
                seen = []
                stop = threading.Event()

                def ask():
                    while not stop.is_set():
                        response = client.post(
                            "/search",
                            json={"question": "Which town lies on hill 3?", "k": 50},
                            headers={"Authorization": "Bearer token-a"},
                        )
                        assert response.status_code == 200, response.text
                        seen.append({f"acme/{answer['document']}" for answer in response.json()})

                with ThreadPoolExecutor(3) as threads:
                    asking = [threads.submit(ask) for _ in range(3)]
                    for number in range(1, 5):
                        store.add_documents([document(number)])
                        expected.append(documents_of(store))
                        newest = stores.publish(store.copy_to, folder)
                        wait_for(
                            lambda newest=newest: (
                                client.get("/ready").json()["store"] == newest.name
                            )
                        )
                    stop.set()
                    for job in asking:
                        job.result()
                assert len(client.app.state.stores._stores._lent) == 1  # earlier ones are closed
    assert all(answer in expected for answer in seen)
    assert expected[0] in seen
    assert len(expected[-1]) == 5


def test_a_store_stays_open_as_long_as_a_request_uses_it(tmp_path):
    folder = tmp_path / "published"
    with opened(tmp_path / "store") as store:
        store.add_documents([document(0)])
        stores.publish(store.copy_to, folder)
        newest = stores.Newest(folder, reader)
        newest.refresh()
        with newest.borrow() as before:
            store.add_documents([document(1)])
            stores.publish(store.copy_to, folder)
            assert newest.refresh()
            assert not newest.refresh()
            with newest.borrow() as after:
                assert len(after) > len(before) > 0
        with pytest.raises(StoreError, match="closed"):
            len(before)
        newest.close()
        with pytest.raises(StoreError, match="closed"):
            len(after)


def publish_and_die(path, folder, place):
    """Publish a store, and be killed in the middle of the copy, after it, or before the link is
    moved.
    """

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    with opened(path) as store:
        if place == "copy":
            shutil.copyfile = die
        elif place == "rename":
            Path.rename = die
        else:
            Path.replace = lambda part, target: (
                die() if target.name == "current" else os.rename(part, target)  # noqa: PTH104
            )
        stores.publish(store.copy_to, folder)


@pytest.mark.parametrize("place", ["copy", "rename", "link", "no store"])
def test_what_was_published_badly_is_not_served(tmp_path, place, caplog):
    folder = tmp_path / "published"
    path = filled(tmp_path / "store", count=1)
    with opened(path) as store:
        stores.publish(store.copy_to, folder)
    settings = app.Settings(folder, TOKENS, read_only=True, follow=0.05)
    with testclient.TestClient(app.create_app(settings, HashEncoder())) as client:
        first = client.get("/ready").json()
        if place == "no store":
            stores.publish(lambda target: target.mkdir(), folder)
            wait_for(lambda: "the one before is still served" in caplog.text)
        else:
            process = multiprocessing.get_context("forkserver").Process(
                target=publish_and_die, args=(path, folder, place)
            )
            process.start()
            process.join(PATIENCE)
            assert process.exitcode == -signal.SIGKILL
            wait_for(lambda: client.get("/live").status_code == 200)
        assert client.get("/ready").json() == first
        with opened(path) as store:
            store.add_documents([document(1)])
            newest = stores.publish(store.copy_to, folder, keep=1)
        wait_for(lambda: client.get("/ready").json()["store"] == newest.name)
    assert sorted(each.name for each in folder.iterdir()) == [
        newest.name,
        "current",
    ]  # nothing is left over


def test_stores_travel_through_an_object_store(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    url = "memory://bucket/facts.zip"
    with opened(tmp_path / "store") as store:
        for number in range(2):
            store.add_documents([document(number)])
            store.save_to(url)
            stores.fetch(url, tmp_path / "replica")
    newest = stores.Newest(tmp_path / "replica", reader)
    with newest.borrow() as store:
        assert documents_of(store) == {"acme/town0", "acme/town1"}
    newest.close()
    fsspec.filesystem("memory").store.clear()


def test_stores_of_tenants_are_opened_when_needed_and_the_oldest_are_closed(tmp_path):
    for name in ("acme", "bolt", "core"):
        filled(tmp_path / name, tenant=name, count=2)
    several = tenants.TenantStores(tmp_path, reader, limit=2)
    with several.borrow("acme") as first:
        for name in ("bolt", "core"):
            with several.borrow(name) as store:
                assert documents_of(store) == {f"{name}/town0", f"{name}/town1"}
        assert documents_of(first) == {"acme/town0", "acme/town1"}  # in use, and closed after
    with pytest.raises(StoreError, match="closed"):
        len(first)
    with several.borrow("acme") as again:
        assert len(again) > 0
    several.close()


def write_on(path, begun, stop):
    with opened(path) as store:
        number = 0
        while not stop.exists():
            store.add_documents([document(100 + number)])
            begun.touch()
            number += 1
        return number


def test_backups_while_others_write_and_back_again(tmp_path):
    path = filled(tmp_path / "store")
    begun, stop = tmp_path / "begun", tmp_path / "stop"
    writing = apart(write_on, path, begun, stop)
    wait_for(begun.exists)
    made = [backup.make(path, tmp_path / "backups", keep=2) for _ in range(4)]
    stop.touch()
    added = writing.get(PATIENCE)
    assert stores.published(tmp_path / "backups") == made[-2:]
    with reader(path) as store:
        everything = store.ids()
        assert len(documents_of(store)) == min(50, 6 + added)
    with reader(made[-1]) as store:
        kept = store.ids()
    assert set(kept) <= set(everything)

    shutil.rmtree(path)
    assert backup.restore(made[-1], path) is None
    with opened(path) as store:
        assert store.ids() == kept
        store.add_documents([document(99)])
        newer = store.ids()
    aside = backup.restore(tmp_path / "backups" / "current", path)
    with opened(path) as store:
        assert store.ids() == kept
    with opened(aside) as store:
        assert store.ids() == newer  # nothing is deleted


def test_a_damaged_backup_is_neither_kept_nor_restored(tmp_path):
    path = filled(tmp_path / "store")
    good = backup.make(path, tmp_path / "backups", keep=1)
    database = good / "units.sqlite"
    content = database.read_bytes()
    place = content.index(b"The town 3 lies")
    database.write_bytes(content[:place] + b"X" + content[place + 1 :])
    with pytest.raises(SystemExit, match=r"is damaged: .*changed on disk"):
        backup.restore(good, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    shutil.copytree(good, tmp_path / "damaged")
    with pytest.raises(SystemExit, match="is damaged"):
        backup.make(tmp_path / "damaged", tmp_path / "backups", keep=1)
    assert (tmp_path / "backups" / "current").resolve() == good  # the one before is left


def test_who_has_a_store_open_that_was_restored_is_told(tmp_path):
    path = filled(tmp_path / "store")
    kept = backup.make(path, tmp_path / "backups", keep=1)
    with opened(path) as store:
        before = documents_of(store)
        backup.restore(kept, path)
        with pytest.raises(StoreError, match="moved, deleted or replaced while it was open"):
            store.add_documents([document(7)])
        assert documents_of(store) == before
    with opened(path) as store:
        assert store.verify() == []


class Wider(HashEncoder):
    """Another model: other vectors, another dimension, another name."""

    def __init__(self):
        super().__init__(dim=64)


def test_another_encoder_makes_a_new_store_of_the_same_facts(tmp_path):
    old = filled(tmp_path / "old")
    with pytest.raises(EncoderMismatchError):
        UnitStore(old, encoder=Wider())
    with opened(old, read_only=True) as store:
        units = [unit.id for unit in store.get(store.ids())]
        before = documents_of(store)
        dim = len(next(iter(store.vectors(units).values())))
    assert reencode.reencode(old, tmp_path / "new", Wider()) == len(units) + 6
    with UnitStore(tmp_path / "new", encoder=Wider()) as store:
        assert store.ids() == units
        assert {len(vector) for vector in store.vectors(units).values()} == {64}
        assert dim != 64
        assert documents_of(store) == before
        assert store.verify() == []
        assert store.add_documents([document(3)]).unchanged == 1  # nothing is decomposed again
    assert {path.name for path in tmp_path.iterdir()} == {"new", "old"}


OTHER_FORMAT = """
import sys
from factoid.files import sqlite
sqlite.FORMAT = 7
from factoid.testing import HashEncoder
from tests.production.service import document, opened
with opened(sys.argv[1]) as store:
    store.add_documents([document(number) for number in range(6)])
    store.export(sys.argv[2])
"""


def test_a_store_of_another_format_is_left_alone_and_its_export_keeps_everything(tmp_path):
    old, file = tmp_path / "old", tmp_path / "units.jsonl"
    subprocess.run(
        [sys.executable, "-c", OTHER_FORMAT, old, file],
        env=ENVIRONMENT,
        check=True,
        timeout=PATIENCE,
    )
    before = {each.name: each.read_bytes() for each in old.iterdir()}
    for options in ({}, {"read_only": True}):
        with pytest.raises(
            StoreFormatError,
            match="of format 7, and this version of factoid reads format 1: export it",
        ):
            opened(old, **options)
    assert {each.name: each.read_bytes() for each in old.iterdir()} == before

    class Never(HashEncoder):
        def encode_units(self, texts):
            raise AssertionError("nothing is encoded again")

    with UnitStore(tmp_path / "new", encoder=Never()) as new:
        new.import_from(file)
    with opened(filled(tmp_path / "same")) as same, opened(tmp_path / "new") as new:
        question = "Which town lies on hill 3?"
        assert new.search(question, k=6) == same.search(question, k=6)
        assert new.verify() == []


def test_backups_on_the_command_line(tmp_path):
    path = filled(tmp_path / "store")

    def call(*arguments):
        command = [sys.executable, "backup.py", *arguments]
        return subprocess.run(
            command, cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True, check=True
        ).stdout

    made = call("make", path, tmp_path / "backups", "--keep", "7").strip()
    shutil.rmtree(path)
    assert call("restore", made, path) == "restored\n"
    assert "what was there is" in call("restore", tmp_path / "backups" / "current", path)
    with opened(path) as store:
        assert len(documents_of(store)) == 6
