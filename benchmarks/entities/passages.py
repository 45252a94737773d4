"""What Entity Retrieval is compared with: articles cut into passages of 100 words, and what finds
the nearest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from factoid.entities.articles.article import Article

if TYPE_CHECKING:
    from factoid import Hit

_BATCH = 256


@dataclass(frozen=True)
class Passage:
    """A block of words of an article."""

    title: str
    text: str

    @property
    def titled(self) -> str:
        """What is indexed: the title stands before every passage, as in the paper's indexes (Tables
        7 to 9).
        """
        return f"{self.title}\n{self.text}"


class Searcher(Protocol):
    """Finds passages."""

    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        """Return the best k passages for each question, best first."""
        ...


def cut(articles: Iterable[Article], *, words: int = 100) -> list[Passage]:
    """Cut articles into blocks of words that do not overlap (§4.1); an article's last block may be
    shorter.
    """
    passages = []
    for article in articles:
        words_of_article = article.text.split()
        for at in range(0, len(words_of_article), words):
            block = " ".join(words_of_article[at : at + words])
            passages.append(Passage(article.title, block))
    return passages


class BM25:
    """BM25 of the package bm25s, with Lucene's formula and the paper's library's k1 and b, its stop
    words and stemmer.
    """

    def __init__(self, folder: Path) -> None:
        import bm25s

        self._index = bm25s.BM25.load(folder, load_corpus=True, mmap=True, show_progress=False)

    @staticmethod
    def build(passages: Sequence[Passage], folder: Path) -> None:
        import bm25s

        index = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
        index.index(_tokens([passage.titled for passage in passages]), show_progress=False)
        corpus = [{"title": passage.title, "text": passage.text} for passage in passages]
        index.save(folder, corpus=corpus, show_progress=False)

    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        most = min(k, len(self._index.corpus))
        found, _ = self._index.retrieve(_tokens(questions), k=most, show_progress=False)
        rankings = []
        for entries in found:
            rankings.append([Passage(entry["title"], entry["text"]) for entry in entries])
        return rankings


class MiniLM:
    """all-MiniLM-L6-v2 over a `UnitStore` with an exact index."""

    def __init__(self, folder: Path) -> None:
        from factoid import SentenceTransformerEncoder, UnitStore

        self._store = UnitStore(folder, encoder=SentenceTransformerEncoder(), read_only=True)

    @staticmethod
    def build(passages: Sequence[Passage], folder: Path) -> None:
        from factoid import Granularity, SentenceTransformerEncoder, UnitStore
        from factoid.units import Unit

        units = []
        for number, passage in enumerate(passages):
            units.append(
                Unit(
                    "",
                    passage.titled,
                    Granularity.PASSAGE,
                    document_id=passage.title,
                    parent_id=passage.title,
                    start=number,  # tells blocks of the same words apart
                    end=number + len(passage.titled),
                    title=passage.title,
                )
            )
        options: dict[str, Any] = {"granularities": [Granularity.PASSAGE], "index": "Flat"}
        with UnitStore(folder, encoder=SentenceTransformerEncoder(), **options) as store:
            for at in range(0, len(units), _BATCH):
                store.add(units[at : at + _BATCH])
            store.search(
                passages[0].text, 1, granularity=Granularity.PASSAGE
            )  # makes the index, which closing saves

    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        from factoid import Granularity, Weights

        found = self._store.search_batch(
            list(questions),
            k,
            granularity=Granularity.PASSAGE,
            weights=Weights(passage=0, lexical=0),
        )
        return [list(map(_passage, hits)) for hits in found]


def _passage(hit: Hit) -> Passage:
    """Return the passage of a hit, whose text begins with its title."""
    title = hit.unit.title
    return Passage(title, hit.unit.text.removeprefix(f"{title}\n"))


METHODS: dict[str, Any] = {"BM25": BM25, "MiniLM": MiniLM}


def build(method: str, articles: Sequence[Sequence[str]], folder: str) -> int:
    """Cut articles, given as (title, text), and index the passages in a folder; return how many
    they are.
    """
    passages = cut(Article(*article) for article in articles)
    METHODS[method].build(passages, Path(folder))
    return len(passages)


def search(
    method: str, folder: str, questions: Sequence[str], k: int
) -> list[list[tuple[str, str]]]:
    """Load what `build` made, and return (title, text) of the best k passages for each question."""
    searcher: Searcher = METHODS[method](Path(folder))
    rankings = []
    for passages in searcher.search(questions, k):
        rankings.append([(passage.title, passage.text) for passage in passages])
    return rankings


def models(method: str) -> list[Path]:
    """Return the folders of models that a method needs besides what `build` makes: they count as
    disk, too (Table 6).
    """
    if method != "MiniLM":
        return []
    from importlib.resources import files

    from factoid.encode import OFFLINE_PACKAGE

    return [Path(str(files(OFFLINE_PACKAGE) / "model"))]


def _tokens(texts: Sequence[str]) -> Any:
    import bm25s

    return bm25s.tokenize(list(texts), stopwords="en", stemmer=_stemmer(), show_progress=False)


def _stemmer() -> Callable[[list[str]], list[str]]:
    from nltk.stem.porter import PorterStemmer  # LlamaIndex brings it along

    stem = PorterStemmer().stem
    return lambda words: list(map(stem, words))
