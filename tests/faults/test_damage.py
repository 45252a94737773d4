"""Every kind of file, damaged in every way: what is read is as it was written, or one error says
what to do, or it is made again.

`FACTOID_CAMPAIGN` is the number of damages to each kind where slow tests are run.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from importlib.util import find_spec

import pytest

from factoid import AnyGranularityRanker, UnitStore
from factoid.entities import Article, ArticleStore, build_articles
from factoid.entities.articles.names import NameKind
from factoid.errors import FactoidError, StoreFormatError
from factoid.files.limits import ReadLimits
from factoid.late_interaction import TokenVectorCache
from factoid.propositions import NoPropositions, PropositionCache
from tests.faults import damage
from tests.faults.attempts import attempts
from tests.faults.injected import CAMPAIGN, CAMPAIGN_SECONDS
from tests.faults.model import require
from tests.late_interaction.word_vectors import WordVectors
from tests.propositions.passages import facts, passages
from tests.store.content import answers, filled, opened, put, state, units

pytest.importorskip("faiss")

RIGHT, AGAIN, FOUND, ERROR = "right", "made again", "found by verify", "an error"
TRAINED = (
    "HNSW8,SQ8",
    "IVF2,Flat",
    "IVF2_HNSW8,Flat",
    "IVF2,RaBitQ",
    "RaBitQ",
    "SQ8",
)  # kinds of FAISS
COUNT = 600  # units, of whose vectors half are distinct; training needs 256


def one_error(error, path):
    """Return the outcome of an error that names the file and says something about it."""
    text = str(error)
    require(
        str(path) in text or path.name in text, "an error that does not name the file:", repr(error)
    )
    require(len(text) > len(str(path)) + 20, "an error that says nothing:", repr(error))
    return ERROR


class UnitsFile:
    """The database of a store, with its indexes and without."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "store"
        self.state = damage.make(self.path, count=60)
        self.file = self.path / damage.DATABASE

    def attempt(self, content, number):
        path = damage.fresh(self.path, self.folder / "damaged")
        alone = (
            number % 2 and len(content) > 1
        )  # an empty one alone is a store that is yet to be made
        for file in damage.caches(path) if alone else ():
            file.unlink()
        (path / damage.DATABASE).write_bytes(content)
        return damage.harmless_or_found(path, self.state, number)


class IndexFile:
    """A file of an index, whose name has a pattern, of a store whose sentences are in an index of
    some kind.
    """

    def __init__(self, folder, pattern, kind="HNSW8"):
        self.folder, self.path, self.options = (
            folder,
            folder / "store",
            {"index": {"sentence": kind}},
        )
        with filled(self.path, 300, **self.options) as store:
            sentences = units(COUNT, seed=1, prefix="more") if kind in TRAINED else []
            put(
                store,
                [(replace(each, granularity="sentence"), vector) for each, vector in sentences],
            )
            self.expected = self.read(store)
        [self.file] = self.path.glob(pattern)

    def read(self, store):
        return (
            answers(store),
            answers(store, lexical=0.5, texts=["Text 7", "Text 8", "Text"]),
            state(store),
        )

    def attempt(self, content, number):
        path = damage.fresh(self.path, self.folder / "damaged")
        (path / self.file.name).write_bytes(content)
        problems = []
        with opened(path, **self.options, read_only=number % 5 == 0, mmap=number % 3 == 0) as store:
            if number % 2:
                problems = store.verify()
            found = self.read(store)
            require(found == self.expected, "other answers:", found[:2], "than", self.expected[:2])
        with opened(path, **self.options) as store:
            require(self.read(store) == self.expected, "other answers the second time")
        with opened(path, **self.options) as store:
            require(store.verify() == [], "what was built again is not right")
        require(
            all(self.file.name.split("-")[0] in problem for problem in problems),
            "another problem:",
            problems,
        )
        return FOUND if problems else RIGHT


class TokensFile:
    """A cache of token vectors, under the name that it has in a store, and under another."""

    def __init__(self, folder):
        self.folder = folder
        self.texts = [
            f"Town {number} lies on hill {number}. It has {number} gates." for number in range(60)
        ]
        self.file = folder / "pristine.sqlite"
        self.expected = self.ranked(self.file)[0]

    def ranked(self, path):
        ranker = AnyGranularityRanker(WordVectors(), cache=TokenVectorCache(path))
        hits = ranker.rank("which town lies on hill 7", self.texts)
        return [(hit.unit, hit.score, hit.parts) for hit in hits], ranker.last_report

    def attempt(self, content, number):
        path = self.folder / ("tokens.sqlite", "own.sqlite")[number % 2]
        path.write_bytes(content)
        problems = []
        try:
            if number % 4 < 2:
                problems = TokenVectorCache(path).verify()
            found, report = self.ranked(path)
            require(
                found == self.expected, "another ranking:", found[:3], "than", self.expected[:3]
            )
            require(self.ranked(path)[0] == self.expected, "another ranking the second time")
            TokenVectorCache(path).verify(repair=True)
            require(TokenVectorCache(path).verify() == [], "it was not repaired")
            return FOUND if problems else AGAIN if report.encoded else RIGHT
        except FactoidError as error:
            require(number % 2, "a store's cache was not made again:", repr(error))
            return one_error(error, path)
        finally:
            for ending in ("", "-wal", "-shm"):
                path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)


class ArticlesFile:
    """An article store: every name, title and key, and what `verify` says."""

    def __init__(self, folder):
        self.file, self.path = folder / "articles.sqlite", folder / "damaged.sqlite"
        articles = [
            Article(
                f"Town {number} (Land)",
                f"Town {number} lies on hill {number}. " * (1 + number % 5),
                (f"Hill {number}", f"Gate {number % 9}"),
                metadata={"number": number},
                document_id=f"d{number}",
            )
            for number in range(80)
        ]
        build_articles(self.file, articles)
        with ArticleStore(self.file) as store:
            self.names = [
                *store.titles(),
                *store.keys(NameKind),
                "Hill 7",
                "Gate 1",
                "Nowhere",
                "Town 99",
            ]
            self.expected = [read() for read in self.reads(store)]

    def reads(self, store):
        view = store.filtered({"number": {"$lt": 40}})
        yield lambda: [*store.titles()]
        yield lambda: sorted(store.keys(NameKind))
        yield lambda: (len(view), sorted(view.keys(NameKind)))
        yield lambda: {name: value for name, value in store.stats().items() if name != "bytes"}
        for name in self.names:
            yield lambda name=name: (
                store.get(name),
                store.names([name]),
                store.articles_titled(name),
                view.get(name),
            )

    def attempt(self, content, number):
        self.path.write_bytes(content)
        errors = 0
        try:
            with ArticleStore(self.path) as store:
                for read, expected in zip(self.reads(store), self.expected, strict=True):
                    try:
                        found = read()
                    except StoreFormatError as error:
                        one_error(error, self.path)
                        errors += 1
                    else:
                        require(found == expected, "read", found, "expected", expected)
                problems = store.verify()
        except FactoidError as error:
            return one_error(error, self.path)
        require(problems or not errors, "verify found nothing, though there were", errors, "errors")
        return FOUND if problems else RIGHT


class PropositionsFile:
    """A cache of propositions in a file of its own; what is lost is asked again."""

    def __init__(self, folder):
        self.file, self.path = folder / "pristine.sqlite", folder / "damaged.sqlite"
        self.passages = passages(80)
        self.outputs = [facts(passage) for passage in self.passages]
        self.outputs[:5] = [NoPropositions("refusal")] * 5
        PropositionCache(self.file).put("m", self.passages, self.outputs)

    def read(self, cache):
        found = cache.get("m", self.passages)
        for output, expected in zip(found, self.outputs, strict=True):
            reasons = getattr(output, "reason", None), getattr(expected, "reason", None)
            require(
                output is None or (output == expected and reasons[0] == reasons[1]),
                output,
                "instead of",
                expected,
            )
        return found.count(None)

    def attempt(self, content, number):
        self.path.write_bytes(content)
        cache = PropositionCache(self.path)
        try:
            missing = self.read(cache)
            cache.put("m", self.passages, self.outputs)
            require(self.read(cache) == 0, "what was asked again is missing")
            return AGAIN if missing else RIGHT
        except FactoidError as error:
            return one_error(error, self.path)
        finally:
            for ending in ("", "-wal", "-shm"):
                self.path.with_name(f"{self.path.name}{ending}").unlink(missing_ok=True)


class ExportFile:
    """An export, imported whole or not at all.

    Parquet is read in a process of its own, and here.
    """

    def __init__(self, folder, ending, *, vectors=True):
        self.file, self.path = folder / f"pristine{ending}", folder / f"damaged{ending}"
        with filled(None, 80) as store:
            store.export(self.file, vectors=vectors)
            self.expected = state(store)
        if not vectors:  # all are encoded, also those of units that had none
            with opened(None) as store:
                store.import_from(self.file)
                require(state(store)[::2] == self.expected[::2], "an export differs from its store")
                self.expected = state(store)

    def attempt(self, content, number):
        self.path.write_bytes(content)
        limits = ReadLimits(seconds=None) if number % 4 else ReadLimits()
        with opened(None) as store:
            try:
                store.import_from(self.path, limits=limits)
            except FactoidError as error:
                require(
                    len(store) == 0 and store.ids() == [],
                    "a part was imported, and then",
                    repr(error),
                )
                return one_error(error, self.path)
            require(
                state(store) == self.expected, "imported", state(store), "expected", self.expected
            )
        return RIGHT


class SentFile:
    """A store as one zip file, as `save_to` sends it."""

    def __init__(self, folder):
        self.folder, self.file, self.path = folder, folder / "pristine.zip", folder / "damaged.zip"
        with filled(folder / "store", 200, index={"sentence": "HNSW8"}) as store:
            self.expected = answers(store), state(store)
            store.save_to(str(self.file))

    def attempt(self, content, number):
        self.path.write_bytes(content)
        target = self.folder / "fetched"
        shutil.rmtree(target, ignore_errors=True)
        try:
            store = UnitStore.load_from(str(self.path), target, encoder=opened(None).encoder)
        except FactoidError as error:
            left = sorted(file.name for file in self.folder.iterdir())
            require(left == ["damaged.zip", "pristine.zip", "store"], "files were left:", left)
            return one_error(error, self.path)
        with store:
            require((answers(store), state(store)) == self.expected, "other answers or content")
            require(store.verify() == [], "it was fetched with problems")
        return RIGHT


needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")
needs_fsspec = pytest.mark.skipif(find_spec("fsspec") is None, reason="needs fsspec")
KINDS = {
    "units": UnitsFile,
    **{
        name: lambda folder, name=name: IndexFile(folder, f"{name}-*.safetensors")
        for name in ("passage", "sentence")
    },
    "lexical": lambda folder: IndexFile(folder, "lexical-*.safetensors"),
    **{
        kind: lambda folder, kind=kind: IndexFile(folder, "sentence-*.faiss", kind)
        for kind in ("HNSW8", *TRAINED)
    },
    "tokens": TokensFile,
    "articles": ArticlesFile,
    "propositions": PropositionsFile,
    "jsonl": lambda folder: ExportFile(folder, ".jsonl"),
    "jsonl without vectors": lambda folder: ExportFile(folder, ".jsonl", vectors=False),
    "parquet": pytest.param(lambda folder: ExportFile(folder, ".parquet"), marks=needs_pyarrow),
    "zip": pytest.param(SentFile, marks=needs_fsspec),
}


@pytest.mark.timeout(CAMPAIGN_SECONDS)
@pytest.mark.parametrize(
    "cases", [12, pytest.param(CAMPAIGN, marks=pytest.mark.slow)], ids=["few", "all"]
)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_damage(tmp_path, request, record_property, kind, cases):
    tried = kind(tmp_path)
    content = tried.file.read_bytes()

    def attempt(number):
        chance = random.Random(f"{request.node.name} {number}")
        return tried.attempt(damage.random_damage(chance, content), number)

    outcomes, faults = attempts(range(cases), attempt)
    record_property("outcomes", dict(outcomes))  # for --junitxml
    assert faults == {}
    assert outcomes.total() == cases
    assert outcomes[RIGHT] < cases  # some damage was noticed
