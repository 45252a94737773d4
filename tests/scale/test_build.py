"""`factoid.scale.build`: what a store would hold, whatever happens on the way."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from filelock import FileLock

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError, PropositionizerError, StoreError, UnreadableFileError
from factoid.files.readers import read_documents
from factoid.scale import build, read_shards
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Granularity
from tests.scale.corpus import POISON, FragileEncoder, articles, content, write_corpus

pytestmark = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")


def halves(passage):
    """Return two propositions of a passage."""
    words = passage.text.split()
    return [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]


OPTIONS = {
    "encoder": HashEncoder(16),
    "propositionizer": ScriptedPropositionizer(halves),
    "shard_characters": 8000,
    "progress": False,
}


def built(inputs, folder, **options):
    return build(inputs, folder, **{**OPTIONS, **options})


def everything(store):
    """Return all units of a store with their vectors, and its documents with their digests."""
    with store.opened.connections.reading() as snapshot:
        units = {unit.id: (unit, vector) for unit, vector in snapshot.stored_units()}
        documents = {
            document.id: (document, digest) for document, digest in snapshot.all_documents()
        }
    return units, documents


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "corpus")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"granularities": ["passage", "sentence", "proposition"], "join_paragraphs": False},
        {"granularities": ["sentence"], "words": 40, "min_words": 10},
        {"late_chunking": True, "embed_metadata": ["height"], "embed_template": "{text}"},
    ],
)
def test_shards_hold_what_a_store_would(tmp_path, corpus, options):
    report = built(corpus, tmp_path / "shards", **options)
    kept = dict(options)
    opening = {}
    for name in ("granularities", "late_chunking", "embed_metadata", "embed_template"):
        if name in kept:
            opening[name] = kept.pop(name)
    with UnitStore(encoder=HashEncoder(16), **opening) as store:
        documents = list(read_documents([corpus]))
        added = store.add_documents(
            documents, propositionizer=ScriptedPropositionizer(halves), **kept
        )
        units, of_documents = everything(store)
    built_units = {}
    built_documents = {}
    shards = read_shards(tmp_path / "shards")
    assert len(shards) > 2
    for shard in shards:
        for unit, vector in shard.read().units:
            assert unit.id not in built_units
            built_units[unit.id] = (unit, vector)
        for document, digest in shard.read().documents:
            built_documents[document.id] = (document, digest)
    assert built_documents == of_documents
    assert built_units.keys() == units.keys()
    for unit_id, (unit, vector) in units.items():
        assert built_units[unit_id][0] == unit
        if vector is None:
            assert built_units[unit_id][1] is None
        else:
            np.testing.assert_array_equal(built_units[unit_id][1], vector)
    assert report.documents == added.documents == 14
    assert report.units == {kind: count for kind, count in added.units.items() if count}
    assert report.decomposition == added.decomposition


def test_a_store_that_imports_the_shards_has_nothing_to_add(tmp_path, corpus):
    built(corpus, tmp_path / "shards")
    with UnitStore(tmp_path / "store", encoder=HashEncoder(16)) as store:
        for file in sorted((tmp_path / "shards").glob("*.parquet")):
            store.import_from(file)
        added = store.add_documents(
            read_documents([corpus]), propositionizer=ScriptedPropositionizer(halves)
        )
    assert (added.documents, added.unchanged) == (0, 14)


def test_a_build_goes_on_where_it_was_interrupted(tmp_path, corpus):
    whole = built(corpus, tmp_path / "whole")
    expected = content(tmp_path / "whole")
    folder = tmp_path / "parts"
    propositionizer = ScriptedPropositionizer(halves)
    built(corpus, folder, propositionizer=propositionizer)
    names = sorted(name for name in expected if name.endswith(".parquet"))
    for missing in ([names[0]], names[1:3], names[-1:], names):
        for name in missing:
            (folder / name).unlink()
        (folder / f".{names[0]}.part").write_bytes(b"PAR1")  # of a killed process
        propositionizer.calls.clear()
        report = built(corpus, folder, propositionizer=propositionizer)
        assert content(folder) == expected
        assert report.new_shards == len(missing)
        assert report.statistics() == whole.statistics()
        assert report.decomposition == whole.decomposition
    propositionizer.calls.clear()
    assert built(corpus, folder, propositionizer=propositionizer).new_shards == 0
    assert propositionizer.calls == []


def test_table_1(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("One two three. Four five.")
    report = built(
        folder,
        tmp_path / "shards",
        granularities=["passage", "sentence", "proposition"],
        propositionizer=ScriptedPropositionizer(lambda _: ["One two three.", "Four five."]),
    )
    assert report.statistics() == {
        ("Passage", "# units"): 1.0,
        ("Passage", "Avg. # words"): 5.0,
        ("Sentence", "# units"): 2.0,
        ("Sentence", "Avg. # words"): 2.5,
        ("Proposition", "# units"): 2.0,
        ("Proposition", "Avg. # words"): 2.5,
    }


# -- Poisoned documents --


def poisoned(folder, *, at):
    """Write a corpus in which some documents hold a poisonous word."""
    folder.mkdir(parents=True)
    lines = []
    for number, text in enumerate(articles(12)):
        if number in at:
            text += f"\n\nHe drank the {POISON} of Vim."
        lines.append(json.dumps({"text": text, "id": f"t{number}"}))
    (folder / "towers.jsonl").write_text("\n".join(lines))
    return folder


def brittle(passage):
    if POISON in passage.text:
        raise RuntimeError(f"cannot read {passage.document_id}")
    return halves(passage)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": FragileEncoder()}, "ValueError: cannot encode"),
        ({"encoder": FragileEncoder(fault="nan")}, "a vector is not finite"),
        ({"propositionizer": ScriptedPropositionizer(brittle)}, "RuntimeError: cannot read t"),
    ],
)
def test_a_poisoned_document_is_recorded_and_alone_left_out(tmp_path, options, message):
    corpus = poisoned(tmp_path / "corpus", at=(3, 7))
    report = built(corpus, tmp_path / "shards", **options)
    assert [failure.document_id for failure in report.failures] == ["t3", "t7"]
    assert report.failures[0].place == f"{corpus}/towers.jsonl, document 4"
    for failure in report.failures:
        assert message in failure.error
    of_shards = []
    ids = []
    for shard in read_shards(tmp_path / "shards"):
        of_shards += shard.manifest.failures
        ids += [document.id for document, _ in shard.read().documents]
    assert of_shards == report.failures
    assert ids == [f"t{number}" for number in range(12) if number not in (3, 7)]
    again = built(corpus, tmp_path / "shards", **options)
    assert again.failures == report.failures


def test_all_documents_may_be_poisoned(tmp_path):
    corpus = poisoned(tmp_path / "corpus", at=range(12))
    report = built(corpus, tmp_path / "shards", encoder=FragileEncoder())
    assert (report.documents, len(report.failures)) == (0, 12)


def test_a_record_that_is_no_document_is_recorded(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = [
        '{"text": "Vim is a town."}',
        "no JSON",
        '{"title": "no text"}',
        '{"text": "half of a character: \\ud83d"}',
        json.dumps({"text": "long " * 300}),
        '{"text": "deep", "metadata": ' + '{"a":' * 150 + "1" + "}" * 150 + "}",
        '{"text": "Ror is a town, too."}',
    ]
    (folder / "a.jsonl").write_text("\n".join(lines))
    (folder / "b.txt").write_bytes(b"\xff\xfe\xfa")
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "Zipped."}\n' * 9)[:-9])
    report = built(folder, tmp_path / "shards", most_characters=1000)
    assert report.documents == 3
    errors = {
        failure.place.removeprefix(f"{folder}/"): failure.error for failure in report.failures
    }
    assert list(errors) == [
        "a.jsonl, document 2",
        "a.jsonl, document 3",
        "a.jsonl, document 4",
        "a.jsonl, document 5",
        "a.jsonl, document 6",
        "b.txt, after document 0",
        "c.jsonl.gz, after document 9",
    ]
    assert "not JSON" in errors["a.jsonl, document 2"]
    assert "lone surrogate" in errors["a.jsonl, document 4"]
    assert "1,500 characters, and 1,000 are allowed" in errors["a.jsonl, document 5"]
    assert "100 levels deep" in errors["a.jsonl, document 6"]
    assert "damaged or cut short after line 9" in errors["c.jsonl.gz, after document 9"]


def test_what_is_not_a_documents_fault_stops_the_build(tmp_path, corpus):
    message = "fails with any document: ValueError: cannot encode"
    with pytest.raises(StoreError, match=message):
        built(corpus, tmp_path / "a", encoder=FragileEncoder(word=" "))
    with pytest.raises(StoreError, match=message):  # also where each is a batch of its own
        built(corpus / "notes.txt", tmp_path / "c", encoder=FragileEncoder(word=" "))

    class Broken:
        def propositionize(self, passages):
            return [[] for _ in passages][1:]

    with pytest.raises(PropositionizerError, match="expected one list of strings"):
        built(corpus, tmp_path / "b", propositionizer=Broken())
    for folder in ("a", "b", "c"):
        assert content(tmp_path / folder) == {}


# -- Folders that are not to be built into --


def test_another_way_or_input_is_refused_in_one_line(tmp_path, corpus):
    folder = tmp_path / "shards"
    built(corpus, folder)
    before = content(folder)
    for options, difference in (
        ({"words": 80}, "words was 100, and is 80"),
        ({"encoder": HashEncoder(8)}, 'encoder was "HashEncoder(16)", and is "HashEncoder(8)"'),
        ({"granularities": ["passage"]}, "propositionizer was"),
        ({"shard_characters": 9000}, "shard_characters was 8000, and is 9000"),
        ({"embed_template": "{text}"}, "embed_template was"),
    ):
        with pytest.raises(InvalidInputError) as caught:
            built(corpus, folder, **options)
        assert difference in str(caught.value)
        assert "\n" not in str(caught.value)
    (corpus / "notes.txt").write_text("Rer was a mason in Vim. He built towers.\n")
    with pytest.raises(InvalidInputError, match="a file of the input was changed"):
        built(corpus, folder)
    (corpus / "more.txt").write_text("More.")
    with pytest.raises(InvalidInputError, match=r"the input was 3 files .* and is 4 files"):
        built(corpus, folder)
    assert content(folder) == before


def test_folders_and_inputs_that_cannot_be(tmp_path, corpus):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("Mine.")
    with pytest.raises(InvalidInputError, match=r"holds other files, such as thesis\.txt"):
        built(corpus, tmp_path / "other")
    with pytest.raises(UnreadableFileError, match="does not exist"):
        built(tmp_path / "nowhere", tmp_path / "shards")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableFileError, match="holds no file that can be read"):
        built(tmp_path / "empty", tmp_path / "shards")
    with pytest.raises(InvalidInputError, match="standard input cannot be read again"):
        built("-", tmp_path / "shards")
    with pytest.raises(InvalidInputError, match="there is no input"):
        built([], tmp_path / "shards")
    with pytest.raises(InvalidInputError, match="shard_characters must be at least 1"):
        built(corpus, tmp_path / "shards", shard_characters=0)
    with pytest.raises(StoreError, match="cannot be made"):
        built(corpus, tmp_path / "other" / "thesis.txt" / "below")
    assert not (tmp_path / "shards").exists()


def test_two_builds_into_one_folder(tmp_path, corpus):
    folder = tmp_path / "shards"
    folder.mkdir()
    with (
        FileLock(folder / ".build.lock"),
        pytest.raises(StoreError, match="another process is building"),
    ):
        built(corpus, folder)
    assert built(corpus, folder).documents == 14


def test_the_output_may_lie_in_the_input(tmp_path, corpus):
    first = built(corpus, corpus / "shards")
    assert built(corpus, corpus / "shards").documents == first.documents == 14


# -- Kinds of input --


def test_kinds_of_input(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    records = [{"text": f"Vim has {n} towers.", "title": f"T{n}", "id": str(n)} for n in range(9)]
    lines = "\n".join(map(json.dumps, records)).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    parquet.write_table(pa.Table.from_pylist(records), tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text("text,year\nVim burned.,1200\n")
    expected = [Document(**record) for record in records]
    report = built(["a.jsonl.gz", "b.parquet", "c.csv"], "shards", shard_characters=10**6)
    documents = []
    for shard in read_shards("shards"):
        documents += [document for document, _ in shard.read().documents]
    assert report.documents == 10  # ids of both are the same, so the later ones replaced the others
    assert report.replaced == 9
    for document, record in zip(documents, expected, strict=False):
        assert (document.text, document.title, document.id) == (
            record.text,
            record.title,
            record.id,
        )
        assert document.metadata == {"source": "b.parquet"}
    assert documents[-1].metadata == {"source": "c.csv", "year": 1200}


def test_an_address_is_read_as_a_folder_is(tmp_path, corpus):
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec")
    system = fsspec.filesystem("memory")
    for file in corpus.iterdir():
        system.pipe_file(f"/{tmp_path.name}/corpus/{file.name}", file.read_bytes())
    system.pipe_file(f"/{tmp_path.name}/corpus/.hidden/x.txt", b"Hidden.")
    address = f"memory://{tmp_path.name}"
    report = built(f"{address}/corpus", f"{address}/shards")
    here = built(corpus, tmp_path / "shards")
    assert report.documents == here.documents
    assert report.units == here.units
    for remote, local in zip(
        read_shards(f"{address}/shards"), read_shards(tmp_path / "shards"), strict=True
    ):
        for (unit, vector), (expected, expected_vector) in zip(
            remote.read().units, local.read().units, strict=True
        ):
            assert unit.text == expected.text
            name = expected.metadata["source"].removeprefix(f"{corpus}/")
            assert unit.metadata["source"] == f"memory:///{tmp_path.name}/corpus/{name}"
            np.testing.assert_array_equal(vector, expected_vector)
    assert built(f"{address}/corpus/*.jsonl", tmp_path / "some").documents == 12
    assert built(f"{address}/corpus", f"{address}/shards").new_shards == 0
    with pytest.raises(UnreadableFileError, match="does not exist"):
        built(f"{address}/nowhere", tmp_path / "none")


def test_a_dump_of_wikipedia(tmp_path):
    from tests.entities.importers.dumps import dump, page

    file = tmp_path / "wiki.xml"
    file.write_bytes(
        dump(page("Vim", "'''Vim''' is a [[town]]. It has towers."), page("Ror", "A mason."))
    )
    report = built(file, tmp_path / "shards")
    (shard,) = read_shards(tmp_path / "shards")
    texts = {document.title: document.text for document, _ in shard.read().documents}
    assert texts == {"Vim": "Vim is a town. It has towers.", "Ror": "A mason."}
    assert report.units[Granularity.PASSAGE] == 2


def test_nothing_large_is_imported():
    code = (
        "import sys, factoid, factoid.scale; "
        "print(*{'pyarrow', 'ray', 'fsspec', 'torch', 'faiss', 'pandas'} & sys.modules.keys())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == []
