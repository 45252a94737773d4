"""What a process does until it fails, and what is there afterwards.

A workload is a generator that ends each step with a `yield`. A step is done wholly or not at all,
and steps that were done before do no harm, so that a workload can be repeated.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from factoid import Granularity, Unit, UnitStore
from factoid.entities import Article, ArticleStore, Redirect, build_articles
from factoid.errors import StoreFormatError
from factoid.propositions import PropositionCache
from factoid.propositions.cached_propositionizer import CachedPropositionizer
from factoid.store.token_cache import TokenVectorCache, TokenVectors
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.towns import add, hits, opened

QUERIES = ("Which town lies on hill 3?", "Town 4 has gates", "It burned")
STORE = "store"
HNSW = {"index": "HNSW8"}


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload, what it needs, and what is there before, between and after its steps."""

    prepare: Callable[[Path], object]
    work: Callable[[Path], Iterator[None]]
    state: Callable[[Path], Any]  # which JSON can hold


# Stores


def store_state(path: Path, **options: Any) -> Any:
    """Return what a store holds and answers, with scores, after it was checked."""
    with opened(path, read_only=True, **options) as store:
        return [store.verify(), *answers(store)]


def answers(store: UnitStore) -> list[Any]:
    ids = sorted(store.ids())
    units = [[unit.id, unit.text, unit.metadata] for unit in store.get(ids)]
    documents = [
        [document.id, document.text] for document in store.documents([f"doc{n}" for n in range(20)])
    ]
    ways = [
        {},
        {"granularity": "proposition"},
        {"granularity": "passage", "lexical": 0.5},
        {"lexical": 1},
    ]
    found = [
        [[hit.unit.id, hit.score] for hit in hits(store, query, **way)]
        for query in QUERIES
        for way in ways
    ]
    return [units, documents, found]


def make_store(folder: Path, **options: Any) -> None:
    with opened(folder / STORE, **options) as store:
        add(store, *range(4))
        store.refresh()


def adding(folder: Path) -> Iterator[None]:
    with opened(folder / STORE) as store:
        add(store, 4)
        yield
        store.delete(["doc1"])
        yield
        store.refresh()
        hits(store)
        store.update_metadata({"walls": 2}, document_ids=["doc2"])
        yield
        add(store, 5, 6)
        yield
        hits(store, lexical=1)


def make_worn_store(folder: Path, **options: Any) -> None:
    make_store(folder, **options)
    with opened(folder / STORE, **options) as store:
        add(store, 4, 5)
        hits(store)
        store.delete(["doc0"])
        texts = [unit.text for unit in store.get(store.ids()) if unit.granularity == "passage"]
    for number, text in enumerate([*texts, "A text that no passage has."]):
        put_tokens(TokenVectorCache(folder / STORE), number, text)


def compacting(folder: Path, **options: Any) -> Iterator[None]:
    with opened(folder / STORE, **options) as store:
        store.compact()
    yield


def worn_state(folder: Path, **options: Any) -> Any:
    with opened(folder / STORE, read_only=True) as store:
        texts = [unit.text for unit in store.get(store.ids()) if unit.granularity == "passage"]
    stored = TokenVectorCache(folder / STORE).get("model", texts)
    return [
        store_state(folder / STORE, **options),
        sorted(stored),
        sorted(stored) == sorted(set(texts)),
    ]


def make_stale_store(folder: Path) -> None:
    make_store(folder)
    with opened(folder / STORE) as store:
        add(store, 4, 5)


def saving_words(folder: Path) -> Iterator[None]:
    with opened(folder / STORE) as store:
        hits(store, lexical=1)
    yield


def creating(folder: Path) -> Iterator[None]:
    with opened(folder / STORE) as store:
        yield
        add(store, 0, 1)
        yield


def created_state(folder: Path) -> Any:
    """Return the state of a store that may be new; its folder may be there before its tables."""
    try:
        return store_state(folder / STORE)
    except StoreFormatError as error:
        if not re.search("there is no store|is empty", str(error)):
            raise
    return None


def make_damaged_store(folder: Path) -> None:
    make_store(folder, **HNSW)
    [file] = (folder / STORE).glob("passage-*.faiss")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def repairing(folder: Path) -> Iterator[None]:
    with opened(folder / STORE, **HNSW) as store:
        store.verify(repair=True)
        yield
        store.refresh()


def merging(folder: Path) -> Iterator[None]:
    with opened(folder / STORE) as store:
        store.merge(folder / "copy")
    opened(
        folder / "copy"
    ).close()  # the next writer there: a reader that is killed leaves SQLite's log
    yield


# Copies


def copying(folder: Path) -> Iterator[None]:
    with opened(folder / STORE) as store:
        if not (folder / "copy").exists():
            store.copy_to(folder / "copy")
    with opened(folder / "copy") as copy:  # the next writer there
        copy.refresh()
    yield


def copying_over(folder: Path) -> Iterator[None]:
    with opened(folder / STORE) as store:
        store.copy_over(folder / "copy")
    yield


def make_two_stores(folder: Path) -> None:
    make_store(folder)
    with opened(folder / "copy") as store:
        add(store, 2, 7, 8)
        store.refresh()


def copy_state(folder: Path) -> Any:
    copy = folder / "copy"
    return [store_state(folder / STORE), store_state(copy) if copy.exists() else None]


def sending(folder: Path) -> Iterator[None]:
    with opened(folder / STORE) as store:
        store.save_to(f"file://{folder}/sent/store.zip")
    yield


def sent_state(folder: Path) -> Any:
    archive = folder / "sent" / "store.zip"
    if not archive.exists():
        return None
    fetched = folder / "fetched"
    shutil.rmtree(fetched, ignore_errors=True)
    with UnitStore.load_from(f"file://{archive}", fetched, encoder=HashEncoder()) as store:
        state = [store.verify(), *answers(store)]
    shutil.rmtree(fetched)
    return state


def make_sent_store(folder: Path) -> None:
    make_store(folder)
    list(sending(folder))


def fetching(folder: Path) -> Iterator[None]:
    if not (folder / "copy").exists():
        UnitStore.load_from(
            f"file://{folder}/sent/store.zip", folder / "copy", encoder=HashEncoder()
        ).close()
    with opened(folder / "copy") as copy:  # the next writer there
        copy.refresh()
    yield


# Exports


def exporting(folder: Path, ending: str) -> Iterator[None]:
    with opened(folder / STORE) as store:
        store.export(folder / f"export{ending}")
    yield


def export_state(folder: Path, ending: str) -> Any:
    file = folder / f"export{ending}"
    if not file.exists():
        return None
    with opened(None) as store:
        store.import_from(file)
        return answers(store)


def make_export(folder: Path) -> None:
    make_two_stores(folder)
    list(exporting(folder, ".jsonl"))


def importing(folder: Path) -> Iterator[None]:
    with opened(folder / "copy") as store:
        store.import_from(folder / "export.jsonl")
    yield


# Caches


def put_tokens(cache: TokenVectorCache, number: int, text: str) -> None:
    spans = np.array([[0, 1], [1, 2], [2, 3]])
    cache.put("model", {text: (text, TokenVectors(np.full((3, 4), number, np.float32), spans))})


def putting_tokens(folder: Path) -> Iterator[None]:
    cache = TokenVectorCache(folder / "tokens.sqlite")
    for number in range(6):
        text = f"text {number}"
        put_tokens(cache, number, text)
        if text not in cache.get("model", [text]):  # the disk is full: that is logged, and no error
            return
        yield


def tokens_state(folder: Path) -> Any:
    if not (folder / "tokens.sqlite").exists():
        return {}
    cache = TokenVectorCache(folder / "tokens.sqlite")
    assert cache.verify() == []
    stored = cache.get("model", [f"text {number}" for number in range(20)])
    return {text: tokens.vectors.tolist() for text, tokens in sorted(stored.items())}


def passage(number: int) -> Unit:
    return Unit(f"p{number}", f"Fact {number}.", Granularity.PASSAGE, "d", "d", 0, 8, "", "", {})


def caching(folder: Path, place: str) -> Iterator[None]:
    propositionizer = ScriptedPropositionizer(lambda unit: [unit.text, "It is one."])
    cached = CachedPropositionizer(propositionizer, folder / place)
    for number in range(6):
        cached.propositionize([passage(number)])
        yield


def caching_state(folder: Path, place: str) -> Any:
    path = folder / place
    stored = []
    if path.exists():
        stored = PropositionCache(path).get("scripted", list(map(passage, range(20))))
    problems = store_state(path) if path.is_dir() else []
    return [problems, [texts for texts in stored if texts is not None]]


# Articles


def town(number: int) -> Article:
    return Article(
        f"Town {number}", f"Town {number} lies on hill {number}.", document_id=f"a{number}"
    )


def building(folder: Path, count: int = 30, resume: str = "") -> Iterator[None]:
    records = [*map(town, range(count)), Redirect("Hill Town", "Town 3")]
    build_articles(folder / "articles.sqlite", records, resume=resume)
    yield


def make_documents(folder: Path) -> None:
    build_articles(folder / "articles.sqlite", map(town, range(20)))


def changing(folder: Path) -> Iterator[None]:
    for number in (3, 4):
        changed = Article(
            f"City {number}", f"City {number} lies on a plain.", document_id=f"a{number}"
        )
        with ArticleStore(folder / "articles.sqlite") as store:
            store.put([changed])
        yield


def articles_state(folder: Path) -> Any:
    file = folder / "articles.sqlite"
    if not file.exists():
        return None
    with ArticleStore(file) as store:
        articles = [[title, store.get(title).text] for title in store.titles()]
        return [store.verify(), articles]


def work(workload: Workload, folder: Path, say: Callable[[int], None]) -> None:
    for number, _ in enumerate(workload.work(folder), start=1):
        say(number)


def states(workload: Workload, folder: Path, _: object) -> list[str]:
    """Return the digest of what is there before the first step and after each, with nothing that
    fails.
    """
    digests = [digest(workload, folder)]
    steps = 0
    while True:
        steps += 1
        running = workload.work(folder)
        done = len(list(islice(running, steps)))
        running.close()
        if done < steps:
            return digests
        digests.append(digest(workload, folder))


def digest(workload: Workload, folder: Path, _: object = None) -> str:
    state = json.dumps(workload.state(folder))
    return f"{hashlib.sha256(state.encode()).hexdigest()} {state[:3000]}"


WORKLOADS = {
    "adding": Workload(make_store, adding, lambda folder: store_state(folder / STORE)),
    "compacting": Workload(make_worn_store, compacting, worn_state),
    "compacting HNSW": Workload(
        partial(make_worn_store, **HNSW), partial(compacting, **HNSW), partial(worn_state, **HNSW)
    ),
    "words": Workload(make_stale_store, saving_words, lambda folder: store_state(folder / STORE)),
    "creating": Workload(lambda _: None, creating, created_state),
    "repairing": Workload(
        make_damaged_store, repairing, lambda folder: store_state(folder / STORE, **HNSW)
    ),
    "merging": Workload(make_two_stores, merging, copy_state),
    "copying": Workload(make_store, copying, copy_state),
    "copying over": Workload(make_two_stores, copying_over, copy_state),
    "sending": Workload(make_store, sending, sent_state),
    "fetching": Workload(make_sent_store, fetching, copy_state),
    "exporting": Workload(
        make_store, partial(exporting, ending=".jsonl"), partial(export_state, ending=".jsonl")
    ),
    "importing": Workload(make_export, importing, copy_state),
    "tokens": Workload(lambda _: None, putting_tokens, tokens_state),
    "propositions": Workload(
        lambda _: None,
        partial(caching, place="cache.sqlite"),
        partial(caching_state, place="cache.sqlite"),
    ),
    "propositions in a store": Workload(
        make_store, partial(caching, place=STORE), partial(caching_state, place=STORE)
    ),
    "articles": Workload(make_documents, building, articles_state),
    "articles resumed": Workload(lambda _: None, partial(building, resume="towns"), articles_state),
    "articles changed": Workload(make_documents, changing, articles_state),
}
if find_spec("pyarrow"):
    parquet = {"ending": ".parquet"}
    WORKLOADS["exporting Parquet"] = Workload(
        make_store, partial(exporting, **parquet), partial(export_state, **parquet)
    )

FUNCTIONS = {
    f"{step} {name}": partial(function, workload)
    for name, workload in WORKLOADS.items()
    for step, function in (
        ("prepare", lambda workload, folder, _: workload.prepare(folder)),
        ("work", work),
        ("states", states),
        ("digest", digest),
    )
}
