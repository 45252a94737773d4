"""The service of docs/production.md in this process: requests, tenants, errors that users must not
see.
"""

from __future__ import annotations

import logging
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from factoid.testing import HashEncoder
from tests.production.service import TOKENS, app, filled, opened, tenants

testclient = pytest.importorskip("fastapi.testclient")


@contextmanager
def served(path, **settings):
    """Serve a store in this process; yield a client that tenant acme uses."""
    made = app.create_app(app.Settings(path, TOKENS, **settings), HashEncoder())
    with testclient.TestClient(made) as client:
        client.headers["Authorization"] = "Bearer token-a"
        yield client


@pytest.fixture
def client(tmp_path):
    with served(tmp_path / "store") as client:
        yield client


def put(client, *documents, token="token-a", **fields):
    made = [{"id": own, "text": text} | fields for own, text in documents]
    return client.put("/documents", json=made, headers={"Authorization": f"Bearer {token}"})


def found(client, question="fee", token="token-a", **fields):
    response = client.post(
        "/search",
        json={"question": question} | fields,
        headers={"Authorization": f"Bearer {token}"},
    )
    assert response.status_code == 200, response.text
    return [answer["text"] for answer in response.json()]


def test_documents_are_added_found_replaced_and_deleted(client):
    assert put(client, ("a", "The fee is 10 dollars."), ("b", "The olm has no eyes.")).json() == {
        "added": 2,
        "unchanged": 0,
    }
    assert put(client, ("a", "The fee is 10 dollars.")).json() == {"added": 0, "unchanged": 1}
    assert put(client, ("a", "The fee is 20 dollars.")).json() == {"added": 1, "unchanged": 0}
    [answer] = client.post("/search", json={"question": "What is the fee?", "k": 1}).json()
    assert (answer["document"], answer["text"]) == ("a", "The fee is 20 dollars.")
    assert answer["facts"] == ["The fee is 20 dollars."]
    assert (answer["start"], answer["end"]) == (0, 22)
    assert client.delete("/documents/a").json()["units"] >= 1
    assert found(client) == ["The olm has no eyes."]
    assert client.get("/ready").json()["store"] == "store"
    assert client.get("/live").json()["process"] > 0
    assert client.get("/internal/stats").json()["documents"] == 1


def test_tenants_see_and_change_their_own_documents_only(client):
    put(client, ("fees", "The fee of Acme is 10."), metadata={"source": "fees.md"})
    put(client, ("fees", "The fee of Bolt is 20."), token="token-b", metadata={"source": "fees.md"})
    assert found(client) == ["The fee of Acme is 10."]
    assert found(client, token="token-b") == ["The fee of Bolt is 20."]
    client.delete("/documents/fees")
    assert found(client) == []
    assert found(client, token="token-b") == ["The fee of Bolt is 20."]


@pytest.mark.parametrize(
    "condition",
    [
        {"tenant": "bolt"},
        {"tenant": {"$ne": "acme"}},
        {"$or": [{"tenant": "bolt"}, {"tenant": "acme"}]},
        {"$or": [{"tenant": {"$exists": True}}]},
        {"$not": {"tenant": "acme"}},
        {"tenant": ["acme", "bolt"]},
        {"$and": [{}, {"$or": [{}, {"tenant": "bolt"}]}]},
        {},
    ],
    ids=str,
)
def test_no_filter_reaches_another_tenant(client, condition):
    put(client, ("a", "The fee of Acme is 10."))
    put(client, ("b", "The fee of Bolt is 20."), token="token-b")
    assert set(found(client, filter=condition)) <= {"The fee of Acme is 10."}


def test_metadata_and_ids_of_a_request_do_not_say_whose_a_document_is(client):
    put(client, ("../bolt/a", "Of Acme."), metadata={"tenant": "bolt"})
    put(client, ("bolt/a", "Of Acme, too."))
    put(client, ("a", "Of Bolt."), token="token-b")
    assert set(found(client, "Of")) == {"Of Acme.", "Of Acme, too."}
    assert found(client, "Of", token="token-b") == ["Of Bolt."]


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer token-c", "Basic token-a"])
def test_who_has_no_token_gets_nothing(client, header):
    put(client, ("a", "The fee of Acme is 10."))
    headers = {"Authorization": header}
    assert client.post("/search", json={"question": "fee"}, headers=headers).status_code in (
        401,
        403,
    )
    assert client.put("/documents", json=[], headers=headers).status_code in (401, 403)
    assert client.delete("/documents/a", headers=headers).status_code in (401, 403)
    assert found(client) == ["The fee of Acme is 10."]


@pytest.mark.parametrize(
    "name", [None, "", "a/b", "../a", "A", ["a"], {"$ne": ""}, 1, "a" * 64, "a\n"]
)
def test_what_is_no_name_of_a_tenant_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="a tenant is named by"):
        tenants.only(name)
    with (
        pytest.raises(ValueError, match="a tenant is named by"),
        tenants.TenantStores(tmp_path, opened).borrow(name),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"question": ""},
        {"question": "x" * 2001},
        {"k": 0},
        {"k": 51},
        {"filter": {"year": {"$near": 1}}},
        {"filter": {"$or": [{"year": number} for number in range(20_001)]}},
    ],
    ids=lambda fields: str(fields)[:30],
)
def test_what_cannot_be_answered_is_the_fault_of_the_request(client, fields):
    response = client.post("/search", json={"question": "fee"} | fields)
    assert response.status_code == 422
    assert response.json()["detail"]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of four megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a small disk here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(file):
    """Let a file take all space that is left on its disk."""
    with suppress(OSError), file.open("wb", buffering=0) as out:
        while True:
            out.write(bytes(1024))


def test_on_a_full_disk_searches_go_on_and_so_do_additions_once_there_is_space(small_disk, caplog):
    with served(small_disk / "store") as client:
        assert put(client, ("a", "The fee is 10 dollars.")).status_code == 200
        filler = small_disk / "filler"
        fill(filler)
        texts = [
            (f"b{number}", f"Tower {number} is {number} metres high. " * 30)
            for number in range(100)
        ]
        with caplog.at_level(logging.ERROR):
            refused = put(client, *texts)
        assert refused.status_code == 503
        assert refused.json() == {"detail": "try again later"}  # no paths, for users
        assert "Retry-After" in refused.headers
        assert "PUT /documents" in caplog.text
        assert "Free some space" in caplog.text
        assert found(client) == ["The fee is 10 dollars."]
        filler.unlink()
        assert put(client, *texts[:20]).json()["added"] == 20
    with opened(small_disk / "store") as store:
        assert store.verify() == []


def test_a_replica_has_no_way_to_write(tmp_path):
    with served(filled(tmp_path / "store"), read_only=True) as client:
        assert len(found(client, "Which town lies on hill 3?", k=3)) == 3
        assert put(client, ("a", "x")).status_code == 404
        assert client.delete("/documents/a").status_code == 404


def test_requests_at_the_same_time(client):
    with ThreadPoolExecutor(8) as threads:
        adding = [
            threads.submit(put, client, (f"d{n}", f"The town {n} lies on hill {n}."))
            for n in range(12)
        ]
        searching = [
            threads.submit(found, client, f"Which town lies on hill {n}?") for n in range(24)
        ]
        assert [job.result().json()["added"] for job in adding] == [1] * 12
        assert all(len(job.result()) <= 5 for job in searching)
    assert len(found(client, "town", k=50)) == 12


def test_the_same_store_behind_langchain(tmp_path, monkeypatch):
    pytest.importorskip("langchain_core")
    import langchain_app

    from langchain_factoid import EncoderEmbeddings

    filled(tmp_path / "store")
    monkeypatch.setenv("FACTOID_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(langchain_app, "make_embeddings", lambda: EncoderEmbeddings(HashEncoder()))
    with testclient.TestClient(langchain_app.app) as client:
        asked = {"question": "Which town lies on hill 3?", "tenant": "acme"}
        answers = client.get("/answers", params=asked).json()
        assert answers[0]["text"].startswith("The town 3 lies on hill 3.")
        assert answers[0]["matches"]
        assert client.get("/answers", params=asked | {"tenant": "bolt"}).json() == []


@pytest.mark.parametrize("way", ["ids", "named", "default", "no source key"])
def test_tenants_with_one_name_for_a_source_do_not_replace_each_other_in_langchain(tmp_path, way):
    documents = pytest.importorskip("langchain_core.documents")
    from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS

    options = {
        "named": {"source_key": ("source", "tenant")},
        "no source key": {"source_key": None},
    }.get(way, {})
    for name, fee in (
        ("acme", 10),
        ("bolt", 20),
    ):  # each in a process of its own, as far as the store can tell
        with MultiGranularFAISS(
            EncoderEmbeddings(HashEncoder()), path=tmp_path / "store", **options
        ) as store:
            own = f"{name}/fees" if way == "ids" else None
            text = f"The fee of {name} is {fee}."
            metadata = {"tenant": name, "source": "fees.md"}
            store.add_documents([documents.Document(text, id=own, metadata=metadata)])
    with opened(tmp_path / "store") as store:
        for name, fee in (("acme", 10), ("bolt", 20)):
            hits = store.search("fee", filter=tenants.only(name))
            assert [hit.unit.text for hit in hits] == [f"The fee of {name} is {fee}."]
