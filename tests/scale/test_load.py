"""Shards are loaded once, whatever is killed, and answer as a store that was built by `add`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from factoid import Document, UnitStore
from factoid.cli import main
from factoid.errors import EncoderMismatchError, InvalidInputError, UnreadableFileError
from factoid.existing.contract import document_row_id
from factoid.scale import Folder, read_shards, write_shard
from factoid.scale.load import NamedEncoder, load_shards
from factoid.testing import HashEncoder
from tests.existing.corpus import ENCODER, PROPOSITIONIZER, QUESTION, documents, oracle
from tests.scale.shards_of import write_shards

pytestmark = [
    pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
]

QUESTIONS = [QUESTION, "Who wrote entry7 in a ledger?", "the weather of place12", "place3"]
ROOT = Path(__file__).resolve().parents[2]


def content(store):
    with store.opened.connections.reading() as snapshot:
        units = {}
        for unit, vector in snapshot.stored_units():
            units[unit.id] = (unit, None if vector is None else vector.tolist())
        whole = {document.id: (document, digest) for document, digest in snapshot.all_documents()}
        meta = {name: snapshot.meta.get(name) for name in ("granularities", *store.opened.identity)}
        return units, whole, meta


def answers(store, **options):
    """Return all that some searches return, scores included."""
    return [store.search(question, 7, **options) for question in QUESTIONS]


def load(folder, path, **options):
    with UnitStore(path, encoder=None) as store:
        return load_shards(folder, store, **options)


@pytest.fixture
def built(tmp_path):
    # Shards have one document after another, and a store samples its vectors in their order.
    with oracle([], path=tmp_path / "built") as store:
        for document in documents(60):
            add(store, [document])
        yield store


def add(store, added):
    return store.add_documents(added, propositionizer=PROPOSITIONIZER, unsupported="keep")


@pytest.fixture
def shards(built, tmp_path):
    return write_shards(built, tmp_path / "shards")


# -- Into a store of ours --


def test_a_loaded_store_is_the_one_that_was_built(built, shards, tmp_path):
    report = load(shards, tmp_path / "loaded")
    assert (report.shards, report.documents, report.units) == (7, 61, len(built))
    with UnitStore(tmp_path / "loaded", encoder=ENCODER) as loaded:
        assert content(loaded) == content(built)
        assert loaded.granularities == built.granularities
        assert loaded.verify() == []
        for options in ({}, {"parents": "unit"}, {"lexical": 0.5}, {"filter": {"tenant": "a"}}):
            assert answers(loaded, **options) == answers(built, **options)
        assert add(loaded, documents(60)).unchanged == 61
        with oracle(documents(60)) as together:
            for hits, expected in zip(answers(loaded), answers(together), strict=True):
                scores = [hit.score for hit in expected]
                assert [hit.score for hit in hits] == pytest.approx(scores, abs=1e-3)


def test_a_second_load_writes_nothing(built, shards, tmp_path):
    load(shards, tmp_path / "loaded")
    with UnitStore(tmp_path / "loaded", encoder=None) as store:
        before = content(store)
        with store.opened.connections.reading() as snapshot:
            generation = snapshot.generation
        report = load_shards(shards, store)
        assert (report.documents, report.unchanged, report.units) == (0, 61, 0)
        with store.opened.connections.reading() as snapshot:
            assert snapshot.generation == generation
        assert content(store) == before


def test_a_changed_document_replaces_what_there_was(built, shards, tmp_path):
    load(shards, tmp_path / "loaded")
    changed = Document("Ledger page 3 about place99 and its weather.", id="d3")
    add(built, [changed])
    folder = write_shards(built, tmp_path / "changed")
    report = load(folder, tmp_path / "loaded")
    assert (report.documents, report.unchanged) == (1, 60)
    with UnitStore(tmp_path / "loaded", encoder=ENCODER) as loaded:
        assert content(loaded) == content(built)
        assert loaded.documents(["d3"]) == [changed]


def test_what_has_to_be_made_again_is_made_again(built, tmp_path):
    with built.opened.connections.raw_transaction() as connection:
        connection.execute("UPDATE documents SET digest = '' WHERE id = 'd5'")
    folder = write_shards(built, tmp_path / "shards")
    load(folder, tmp_path / "loaded")
    assert load(folder, tmp_path / "loaded").unchanged == 61
    with UnitStore(tmp_path / "loaded", encoder=ENCODER) as loaded:
        assert add(loaded, documents(60)).documents == 1


def test_shards_of_a_store_of_propositions_alone(tmp_path):
    with UnitStore(encoder=ENCODER, granularities=["proposition"]) as built:
        for document in documents():
            add(built, [document])
        folder = write_shards(built, tmp_path / "shards")
        load(folder, tmp_path / "loaded")
        with UnitStore(tmp_path / "loaded", encoder=ENCODER) as loaded:
            assert content(loaded) == content(built)
            assert answers(loaded) == answers(built)


# -- Killed --

KILLED = """
import os, signal, sys
from factoid.existing.collection import Put
from factoid.scale import load
from factoid.store.database.transaction import Transaction
{setup}
calls = 0
def dies(function):
    def counted(*arguments, **options):
        global calls
        calls += 1
        if calls == {moment}:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return counted
load._BATCH = 20
{patch}
load.load_shards({folder!r}, store)
"""


def killed(folder, moment, setup, patch):
    """Load in a process that is killed at some call, and return whether it was."""
    program = KILLED.format(setup=setup, moment=moment, patch=patch, folder=str(folder.address))
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize("name", ["insert", "finish"])
def test_a_killed_load_goes_on(name, built, shards, tmp_path):
    path = tmp_path / "loaded"
    setup = f"from factoid import UnitStore\nstore = UnitStore({str(path)!r}, encoder=None)"
    patch = f"Transaction.{name} = dies(Transaction.{name})"
    for moment in (2, 5, 1):  # each process goes on where the last one stopped
        assert killed(shards, moment, setup, patch)
        with UnitStore(path, encoder=ENCODER) as store:
            assert store.verify() == []
    report = load(shards, path)
    assert report.unchanged > 0
    assert report.documents > 0
    with UnitStore(path, encoder=ENCODER) as loaded:
        assert content(loaded) == content(built)
        assert answers(loaded) == answers(built)


@pytest.mark.slow
def test_twenty_random_kills(built, shards, tmp_path):
    path = tmp_path / "loaded"
    random = Random(0)
    setup = f"from factoid import UnitStore\nstore = UnitStore({str(path)!r}, encoder=None)"
    kills = 0
    for _ in range(20):
        name = random.choice(["put_document", "remove", "insert", "identify", "finish"])
        patch = f"Transaction.{name} = dies(Transaction.{name})"
        kills += killed(shards, random.randint(1, 3), setup, patch)
        with UnitStore(path, encoder=ENCODER) as store:
            assert store.verify() == []
    assert kills > 5  # the others had nothing left to do
    load(shards, path)
    with UnitStore(path, encoder=ENCODER) as loaded:
        assert content(loaded) == content(built)


def test_a_load_into_chroma_that_is_killed_goes_on(shards, tmp_path):
    pytest.importorskip("langchain_chroma", reason="needs langchain-chroma, of the group `stores`")
    from langchain_factoid import MultiGranularRetriever
    from langchain_factoid.addresses import vectorstore_at

    address = f"chroma://{tmp_path}/chroma#facts"
    setup = f"""
from factoid.scale.load import NamedEncoder
from langchain_factoid import MultiGranularRetriever
from langchain_factoid.addresses import vectorstore_at
vectors = vectorstore_at({address!r}, NamedEncoder({ENCODER.name!r}), 64)
store = MultiGranularRetriever(vectorstore=vectors).existing
"""
    for moment in (3, 6):
        assert killed(shards, moment, setup, "Put.run = dies(Put.run)")
    vectors = vectorstore_at(address, ENCODER, 64)
    existing = MultiGranularRetriever(vectorstore=vectors).existing
    report = load_shards(shards, existing)
    assert report.unchanged > 0
    assert report.documents > 0
    assert existing.verify() == []
    ids = vectors.get()["ids"]
    assert len(ids) == len(set(ids)) == report_rows(shards)


def report_rows(folder):
    """Return how many rows the contract makes of shards whose documents are short."""
    return sum(shard.manifest.records for shard in read_shards(folder))


# -- Into vector stores --


def in_memory(_place):
    from langchain_core.vectorstores import InMemoryVectorStore

    from langchain_factoid import EncoderEmbeddings

    return InMemoryVectorStore(EncoderEmbeddings(ENCODER))


def simple(_place):
    from llama_index.core.vector_stores import SimpleVectorStore

    return SimpleVectorStore()


def chroma(place):
    chroma_module = pytest.importorskip(
        "langchain_chroma", reason="needs langchain-chroma, of the group `stores`"
    )
    from langchain_factoid import EncoderEmbeddings
    from tests.existing.corpus import exact_hnsw

    return chroma_module.Chroma(
        place.name,
        EncoderEmbeddings(ENCODER),
        persist_directory=str(place),
        collection_configuration=exact_hnsw("cosine"),
    )


def existing(vectorstore):
    if type(vectorstore).__module__.startswith("llama_index"):
        import llama_index_factoid

        return llama_index_factoid.MultiGranularRetriever(
            vectorstore=vectorstore, embed_model=llama_index_factoid.EncoderEmbedding(ENCODER)
        ).existing
    import langchain_factoid

    return langchain_factoid.MultiGranularRetriever(vectorstore=vectorstore).existing


@pytest.mark.parametrize("make", [in_memory, simple, chroma])
def test_a_loaded_vector_store_answers_as_one_that_was_added_to(make, shards, tmp_path):
    pytest.importorskip("llama_index.core" if make is simple else "langchain_core")
    loaded = existing(make(tmp_path / "loaded"))
    report = load_shards(shards, loaded)
    assert report.documents == 61
    assert loaded.verify() == []
    assert load_shards(shards, loaded).unchanged == 61
    added = existing(make(tmp_path / "added"))
    added._recipe = oracle_recipe(added)
    added.add_documents(documents(60))
    for question in QUESTIONS:
        expected = added.search(question, 7)
        answer = loaded.search(question, 7)
        assert answer.complete == expected.complete
        scores = [hit.score for hit in expected.hits]
        assert [hit.score for hit in answer.hits] == pytest.approx(scores, abs=1e-6)
        assert above_the_last(answer.hits) == above_the_last(expected.hits)
    added.add_documents(documents(60))
    assert added.last_report.unchanged == 61


def above_the_last(hits):
    """Return the units that score above the last one: which of equal ones come is the store's choice."""
    lowest = hits[-1].score + 1e-6
    return {hit.unit.id: hit.unit for hit in hits if hit.score > lowest}


def test_a_document_that_lacks_a_part_is_written_again(built, tmp_path, caplog):
    pytest.importorskip("langchain_core")
    long = Document("Ledger page 99 about place99. " * 2_000, id="long")
    add(built, [long])
    folder = write_shards(built, tmp_path / "shards")
    loaded = existing(in_memory(None))
    load_shards(folder, loaded)
    loaded.collection.remove([document_row_id("long", 1)])  # as if killed between two calls
    assert load_shards(folder, loaded).documents == 1
    assert loaded.verify() == []
    assert loaded.documents(["long"]) == [long]


def oracle_recipe(store):
    from dataclasses import replace

    return replace(store._recipe, propositionizer=PROPOSITIONIZER, unsupported="keep")


def test_pgvector(shards, postgres):
    pytest.importorskip("langchain_postgres", reason="needs langchain-postgres")
    from langchain_factoid import MultiGranularRetriever
    from langchain_factoid.addresses import vectorstore_at

    vectors = vectorstore_at(f"{postgres}#loaded", NamedEncoder(ENCODER.name), 64)
    loaded = MultiGranularRetriever(vectorstore=vectors).existing
    assert load_shards(shards, loaded).documents == 61
    assert load_shards(shards, loaded).unchanged == 61
    assert loaded.verify() == []
    asking = vectorstore_at(f"{postgres}#loaded", ENCODER, 64)
    [hit, *_] = MultiGranularRetriever(vectorstore=asking).existing.search(QUESTION, 3).hits
    assert hit.unit.document_id == "crowd"
    for opened in (vectors, asking):
        opened._engine.dispose()


def test_no_text_is_encoded(shards):
    pytest.importorskip("langchain_core")
    from langchain_core.vectorstores import InMemoryVectorStore

    from langchain_factoid import EncoderEmbeddings

    vectors = InMemoryVectorStore(EncoderEmbeddings(NamedEncoder(ENCODER.name)))
    assert load_shards(shards, existing(vectors)).documents == 61


def test_qdrant_takes_the_vectors(shards, tmp_path):
    pytest.importorskip("langchain_qdrant", reason="needs langchain-qdrant, of the group `stores`")
    from langchain_factoid import MultiGranularRetriever
    from langchain_factoid.addresses import vectorstore_at

    address = f"qdrant://{tmp_path}/qdrant#facts"
    vectors = vectorstore_at(address, NamedEncoder(ENCODER.name), 64)
    loaded = MultiGranularRetriever(vectorstore=vectors).existing
    assert load_shards(shards, loaded).documents == 61
    assert load_shards(shards, loaded).unchanged == 61
    assert loaded.verify() == []
    [point, *_] = vectors.client.scroll("facts", with_vectors=True)[0]
    assert len(point.vector) == 64
    vectors.client.close()
    asking = vectorstore_at(address, ENCODER, None)
    [hit, *_] = MultiGranularRetriever(vectorstore=asking).existing.search(QUESTION, 3).hits
    assert hit.unit.document_id == "crowd"
    asking.client.close()


def test_milvus(shards, tmp_path):
    pytest.importorskip("langchain_milvus", reason="needs langchain-milvus, of the group `stores`")
    pytest.importorskip("milvus_lite", reason="needs milvus-lite, of the group `stores`")
    from langchain_factoid import MultiGranularRetriever
    from langchain_factoid.addresses import vectorstore_at

    address = f"milvus://{tmp_path}/vectors.db#facts"
    vectors = vectorstore_at(address, ENCODER, 64)
    loaded = MultiGranularRetriever(vectorstore=vectors).existing
    assert load_shards(shards, loaded).documents == 61
    assert load_shards(shards, loaded).unchanged == 61
    assert loaded.verify() == []
    [hit, *_] = loaded.search(QUESTION, 3).hits
    assert hit.unit.document_id == "crowd"
    indexed = vectors.client.list_indexes("facts")  # what is filtered by, too
    assert {*indexed} == {"vector", "factoid_granularity", "factoid_passage"}


def test_a_store_that_embeds_itself_says_so(shards, monkeypatch, caplog):
    pytest.importorskip("langchain_core")
    loaded = existing(in_memory(None))
    monkeypatch.setattr(loaded.collection, "takes_vectors", lambda: False)
    assert load_shards(shards, loaded).documents == 61
    assert "all texts are encoded again" in caplog.text
    assert loaded.verify() == []


# -- What is refused --


def other(folder, path, encoder):
    """Write shards of other vectors beside."""
    with UnitStore(encoder=encoder, granularities=["passage"]) as store:
        store.add_documents([Document("Another text.", id="other")])
        return write_shards(store, path)


def renamed():
    encoder = HashEncoder(64)
    encoder.name = "another"
    return encoder


@pytest.mark.parametrize(("encoder", "named"), [(HashEncoder(32), "32"), (renamed(), "'another'")])
def test_other_vectors_are_refused(encoder, named, shards, tmp_path):
    load(shards, tmp_path / "loaded")
    different = other(shards, tmp_path / "other", encoder)
    with UnitStore(tmp_path / "loaded", encoder=None) as store:
        before = content(store)
        with pytest.raises(EncoderMismatchError, match=named):
            load_shards(different, store)
        assert content(store) == before
    if find_spec("langchain_core"):
        vectors = existing(in_memory(None))
        load_shards(shards, vectors)
        with pytest.raises(EncoderMismatchError, match=named):
            load_shards(different, vectors)


def test_shards_of_two_makes_are_refused(shards, tmp_path):
    with UnitStore(encoder=HashEncoder(32), granularities=["passage"]) as store:
        store.add_documents([Document("Another text.", id="other")])
        [shard] = read_shards(write_shards(store, tmp_path / "other"))
        units, whole = shard.read()
        write_shard(shards, "part-zzz", units, whole, identity=shard.manifest.identity)
    with pytest.raises(EncoderMismatchError, match=r"part-00000 and part-zzz .* different makes"):
        load(shards, tmp_path / "loaded")


@pytest.mark.parametrize("damage", ["bit", "cut", "no manifest", "manifest"])
def test_a_damaged_shard_is_refused(damage, built, shards, tmp_path):
    file = Path(shards.address) / "part-00003.parquet"
    manifest = file.with_suffix(".json")
    whole = file.read_bytes()
    description = manifest.read_bytes()
    if damage == "bit":
        file.write_bytes(whole[:500] + bytes([whole[500] ^ 1]) + whole[501:])
    elif damage == "cut":
        file.write_bytes(whole[:-10])
    elif damage == "manifest":
        manifest.write_text("{}", encoding="utf-8")
    else:
        manifest.unlink()
    with pytest.raises((UnreadableFileError, InvalidInputError), match="part-00003"):
        load(shards, tmp_path / "loaded")
    file.write_bytes(whole)
    manifest.write_bytes(description)
    report = load(shards, tmp_path / "loaded")
    assert report.documents + report.unchanged == 61
    with UnitStore(tmp_path / "loaded", encoder=ENCODER) as loaded:
        assert content(loaded) == content(built)


def test_units_without_their_document_are_refused(built, tmp_path):
    folder = Folder(tmp_path / "shards")
    folder.make()
    with built.opened.connections.reading() as snapshot:
        units = list(snapshot.stored_units(["d1"]))
    write_shard(folder, "part", units, [], identity={"encoder": "x"})
    with pytest.raises(UnreadableFileError, match="'d1', and not the document"):
        load(folder, tmp_path / "loaded")


# -- The command --


def run(capsys, *arguments):
    """Run a command; return its exit code and what it printed."""
    code = main(["load", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command(built, shards, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "shards", "--into", "facts", "--json")
    assert code == 0
    assert json.loads(out)["documents"] == 61
    code, out, _ = run(capsys, "shards", "--into", "facts")
    assert out == "0 documents with 0 units loaded from 7 shards, 61 unchanged\n"
    with UnitStore("facts", encoder=ENCODER) as loaded:
        assert content(loaded) == content(built)


def test_the_command_into_a_vector_store_of_the_users(shards, tmp_path, monkeypatch, capsys):
    pytest.importorskip("langchain_core")
    program = """
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_factoid import EncoderEmbeddings
from factoid.testing import HashEncoder

vectors = InMemoryVectorStore(EncoderEmbeddings(HashEncoder(64)))
"""
    (tmp_path / "load_app.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "shards", "--into", "load_app:vectors", "--json")
    assert code == 0
    assert json.loads(out)["documents"] == 61
    assert main(["store", "verify", "load_app:vectors"]) == 0
    sys.modules.pop("load_app")


def test_the_command_into_an_address(shards, tmp_path, monkeypatch, capsys):
    pytest.importorskip("langchain_chroma", reason="needs langchain-chroma, of the group `stores`")
    monkeypatch.chdir(tmp_path)
    for unchanged in (0, 61):
        code, out, _ = run(capsys, "shards", "--into", "chroma://vectors#facts", "--json")
        assert code == 0
        assert json.loads(out)["unchanged"] == unchanged
    assert (tmp_path / "vectors").is_dir()
    assert main(["store", "verify", "chroma://vectors#facts"]) == 0
    assert "all is well" in capsys.readouterr().out


def test_a_relative_address_is_that_of_the_folder_of_now(shards, tmp_path, monkeypatch, capsys):
    pytest.importorskip("langchain_chroma", reason="needs langchain-chroma, of the group `stores`")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        address = "chroma://vectors#facts"
        code, out, _ = run(capsys, str(shards.address), "--into", address, "--json")
        assert code == 0
        assert json.loads(out)["documents"] == 61
        assert (tmp_path / name / "vectors").is_dir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--into", "facts"], "nowhere cannot be read"),
        (["empty", "--into", "facts"], "no shards at empty: factoid build makes them"),
        (["shards", "--into", "s3://bucket/facts"], "s3:// is not the address of a vector store"),
        (["shards", "--into", "no_such_module:x"], "no module 'no_such_module'"),
    ],
)
def test_wrong_use_is_one_line(arguments, message, shards, tmp_path, monkeypatch, capsys):
    pytest.importorskip("langchain_core")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("factoid: error: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "facts").exists()
