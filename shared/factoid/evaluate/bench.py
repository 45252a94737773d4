"""A corpus with questions, and the work on it that several settings share."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from factoid.context import pack_context
from factoid.encode import EMBED_TEMPLATE, Encoder, Vectors, encoded_text
from factoid.errors import InvalidInputError
from factoid.evaluate.checks import Check, check_questions, check_truncation
from factoid.evaluate.comparison import Asked, Tried
from factoid.evaluate.gold import Gold, GoldFinder
from factoid.evaluate.measures import DEPTH, WORDS, Answer, Top, answer_of
from factoid.evaluate.questions import Question
from factoid.evaluate.settings import Setting, check_settings, chunks, default_settings
from factoid.evaluate.vector_cache import VectorCache
from factoid.files.atomic import write_file
from factoid.files.lines import parse_json, read_whole
from factoid.progress import tracked
from factoid.propositions import Propositionizer, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import CachedPropositionizer
from factoid.propositions.decompose import decompose
from factoid.split import MIN_WORDS, split_passages, split_sentences
from factoid.split import WORDS as PASSAGE_WORDS
from factoid.store import UnitStore
from factoid.store.ingest import assemble, whole_passage
from factoid.units import Document, Granularity, Hit, Unit, content_id
from factoid.words import count_words

_FORMAT = 2  # of cached answers
_UNITS = 100  # of a context, and results that fusion sees
_RANK_CONSTANT = 60  # of LangChain's EnsembleRetriever
_BATCH = 128  # questions
_FEW = 5  # results whose words are counted
_SAMPLE = 24  # passages that the cost is measured on
_TOKENS = 4 / 3  # of an English word
_AROUND = 80  # characters around a source
_LONGEST = 600  # characters of a shown text
_FLOAT = 4  # bytes

Texts = dict[str, list[Unit]]


@dataclass(frozen=True)
class Estimate:
    """What a run costs from cold.

    Attributes:
        passages: Of the corpus.
        texts: Texts to encode, about, for all encoders together.
        tokens: In them, about: four thirds of the words.
        seconds: For propositions and vectors, as measured on a sample.
        money: For the tokens, in the currency of the price; None without one.
    """

    passages: int
    texts: int
    tokens: int
    seconds: float
    money: float | None

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self.seconds), 60)
        took = f"{seconds} s"
        if minutes:
            took = f"{minutes} min {seconds} s"
        text = f"about {self.texts:,} texts of {self.tokens:,} tokens to encode, {took} from cold"
        return text if self.money is None else f"{text}, for {self.money:.2f}"


class Bench:
    """A corpus and questions, with what several settings share.

    Args:
        documents: See `compare` for the meaning of all.

    Raises:
        InvalidInputError: See `compare`.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        questions: Sequence[Question],
        settings: Sequence[Setting] | None = None,
        *,
        encoder: Encoder | Mapping[str, Encoder],
        propositionizer: Propositionizer | None = None,
        words: int = PASSAGE_WORDS,
        cache: str | Path | None = None,
        progress: bool | None = None,
    ) -> None:
        self.settings = list(default_settings() if settings is None else settings)
        self._encoders = dict(encoder) if isinstance(encoder, Mapping) else {"": encoder}
        check_settings(self.settings, list(self._encoders))
        self.documents = list({document.id: document for document in documents}.values())
        if not any(document.text.strip() for document in self.documents):
            raise InvalidInputError("the corpus holds no text: name files or folders with text")
        if propositionizer is None:
            propositionizer = SyntaxPropositionizer()
        self._propositionizer = propositionizer
        self._words = words
        self._cache = None if cache is None else Path(cache)
        self._progress = progress
        finder = GoldFinder(self.documents)
        golds = [finder.find(question) for question in questions]
        pairs = zip(questions, golds, strict=True)
        self.questions = [(question, gold) for question, gold in pairs if gold is not None]
        if not self.questions:
            raise InvalidInputError(
                f"the corpus holds the gold of none of {len(questions):,} questions: check that "
                "quotes or answers are copied from its text, and that documents are named by "
                "their file name or title"
            )
        self._by_id = {document.id: document for document in self.documents}
        self._key = self._hashes()
        self._passages: list[Unit] | None = None
        self._propositions: tuple[list[Unit], float] | None = None
        self._caches: dict[str, VectorCache] = {}
        self._stores: dict[tuple[str, str, int], UnitStore] = {}
        self._queries: dict[str, Vectors] = {}
        self.checks = self._checks(questions, golds)

    @property
    def asked(self) -> list[Asked]:
        """The questions as they are shown."""
        asked = []
        for question, gold in self.questions:
            shown = " | ".join(gold.answers or gold.quotes or question.documents)
            group = gold.group
            if group in self._by_id:
                group = self._name(self._by_id[group])
            asked.append(
                Asked(question.id, question.text, shown[:_LONGEST], group, question.is_generated)
            )
        return asked

    @property
    def is_done(self) -> bool:
        """Whether the cache holds the answers of all settings."""
        files = [self._file(setting) for setting in self.settings]
        return all(file is not None and file.is_file() for file in files)

    def manifest(self) -> dict[str, Any]:
        """Return what the numbers depend on."""
        return {
            "corpus": self._key["corpus"],
            "questions": self._key["questions"],
            "settings": content_id([setting.record() for setting in self.settings]),
            "encoders": {name or "default": self._name_of(name) for name in self._encoders},
            "propositionizer": self._key["propositionizer"],
            "words of a passage": self._words,
            "documents": len(self.documents),
            "seed": 0,
            "factoid": version("factoid"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        }

    def estimate(self, price: float | None = None) -> Estimate:
        """Return what the run costs, measured on a sample of passages."""
        passages = self._split()
        step = max(1, len(passages) // _SAMPLE)
        sample = passages[::step][:_SAMPLE]
        scale = len(passages) / len(sample)
        kinds = {kind for setting in self.settings for kind in setting.vector_kinds}
        seconds = 0.0
        texts = [encoded_text(unit) for unit in sample]
        if Granularity.SENTENCE in kinds:
            for unit in sample:
                texts += [encoded_text(sentence) for sentence in split_sentences(unit)]
        if Granularity.PROPOSITION in kinds:
            decompose(sample[:1], self._propositionizer, log=False)  # loads its model
            began = time.perf_counter()
            units = decompose(sample, self._propositionizer, log=False).units
            seconds += time.perf_counter() - began
            texts += [encoded_text(unit) for unit in units]
        count = len(texts) * scale
        tokens = _TOKENS * scale * sum(map(count_words, texts))
        # Chunks are no sample of passages, but the same words once more.
        sizes = {(s.units, s.size) for s in self.settings if s.is_foreign and s.vector_kinds}
        characters = sum(len(document.text) for document in self.documents)
        for _, size in sizes:
            count += characters / size
            tokens += _TOKENS * scale * sum(count_words(unit.text) for unit in sample)
        encoded = 0.0
        used = {setting.encoder for setting in self.settings if setting.vector_kinds}
        for name in used:
            encoder = self._encoder(name).encoder
            encoder.encode_units(texts[:1])  # loads its model
            began = time.perf_counter()
            encoder.encode_units(texts)
            encoded += (time.perf_counter() - began) / max(sum(map(count_words, texts)), 1)
        seconds = seconds * scale + encoded * tokens / _TOKENS
        count *= len(used)
        tokens *= len(used)
        money = None if price is None else price * tokens / 1e6
        return Estimate(len(passages), round(count), round(tokens), seconds, money)

    def truncation(self) -> list[Check]:
        """Return a doubt for each encoder that does not read passages to their end."""
        kept = self._read("truncation")
        if kept is not None:
            return [Check(**check) for check in kept]
        used = {setting.encoder for setting in self.settings if setting.vector_kinds}
        texts = [encoded_text(unit) for unit in self._split()]
        checks = []
        for name in sorted(used):
            checks += check_truncation(self._encoder(name).encoder, texts, "passages")
        self._write("truncation", [asdict(check) for check in checks])
        return checks

    # -- One setting --

    def run(self, setting: Setting) -> tuple[Tried, tuple[Answer, ...]]:
        """Return a setting's measurements, and what it found for each question."""
        name = self._result_key(setting)
        kept = self._read(name)
        if kept is not None:
            tried = replace(Tried(**kept["tried"]), name=setting.name)
            return tried, tuple(answer_of(answer) for answer in kept["answers"])
        if Granularity.PROPOSITION in setting.vector_kinds:
            self._decomposed()
        store = self._store(setting)
        # The first search builds indexes, and encodes the questions.
        self._search(store, setting, DEPTH, "passage", questions=1)
        began = time.perf_counter()
        results = self._search(store, setting, DEPTH, "passage")
        search_ms = 1000 * (time.perf_counter() - began) / len(self.questions)
        units = self._search(store, setting, _UNITS, "unit")
        answers = []
        words = 0
        for (_, gold), found, best in zip(self.questions, results, units, strict=True):
            passages = [hit.unit for hit in found]
            words += sum(count_words(unit.searched) for unit in passages[:_FEW])
            answers.append(self._answer(gold, passages, best))
        tried = self._tried(setting, store, search_ms, words / len(self.questions))
        kept = {"tried": asdict(tried), "answers": [asdict(answer) for answer in answers]}
        self._write(name, kept)
        return tried, tuple(answers)

    def _answer(self, gold: Gold, passages: Sequence[Unit], best: Sequence[Hit]) -> Answer:
        context = ""
        if best:
            context = pack_context(best, words=WORDS, headings=False)
        right = {place.document_id for place in gold.places}.union(gold.document_ids)
        in_document = None
        if right:
            in_document = any(unit.document_id in right for unit in passages)
        top = self._top(best[0]) if best else None
        return Answer(
            tuple(gold.first_ranks(passages)), gold.words_needed(context), top, in_document
        )

    def _top(self, hit: Hit) -> Top:
        unit = hit.unit
        document = self._by_id[unit.document_id]
        start, end = unit.start, min(unit.end, unit.start + _LONGEST)
        parts = {name: round(score, 4) for name, score in hit.parts.items()}
        return Top(
            unit.searched[:_LONGEST],
            self._name(document),
            round(hit.score, 4),
            parts,
            document.text[max(0, start - _AROUND) : start],
            document.text[start:end],
            document.text[end : end + _AROUND],
        )

    @staticmethod
    def _name(document: Document) -> str:
        file = PurePath(str(document.metadata.get("source", ""))).name
        return document.title or file or document.id

    def _tried(self, setting: Setting, store: UnitStore, search_ms: float, words: float) -> Tried:
        counts = store.counts()
        kinds = setting.vector_kinds
        vectors = sum(counts.get(kind, 0) for kind in kinds)
        queries = self._encoded(setting.encoder) if kinds else np.zeros((0, 0), np.float32)
        seconds = 0.0
        if kinds:
            encoder = self._encoder(setting.encoder)
            for units in self._units_of(setting, kinds):
                seconds += encoder.seconds(units)
        if Granularity.PROPOSITION in kinds:
            seconds += self._decomposed()[1]
        compared = [kind for kind in kinds if len(kinds) == 1 or kind != Granularity.PASSAGE]
        if setting.units == "mixed" or not kinds:
            compared = list(kinds) or [Granularity.PASSAGE]
        return Tried(
            name=setting.name,
            description=setting.record(),
            code=setting.code(),
            units=sum(counts.get(kind, 0) for kind in compared),
            vectors=vectors,
            bytes=vectors * queries.shape[1] * _FLOAT,
            index_seconds=round(seconds, 3),
            search_ms=round(search_ms, 3),
            context_words=round(words, 1),
        )

    def _units_of(self, setting: Setting, kinds: Sequence[Granularity]) -> list[list[str]]:
        """Return the texts that are encoded for a setting, by granularity."""
        if setting.is_foreign:
            return [[unit.text for unit in chunks(self.documents, setting.units, setting.size)]]
        texts = []
        for kind in kinds:
            units = self._split()
            if kind is Granularity.SENTENCE:
                units = [sentence for unit in units for sentence in split_sentences(unit)]
            if kind is Granularity.PROPOSITION:
                units = self._decomposed()[0]
            texts.append([encoded_text(unit) for unit in units])
        return texts

    # -- Searching --

    def _search(
        self,
        store: UnitStore,
        setting: Setting,
        k: int,
        parents: str,
        *,
        questions: int | None = None,
    ) -> list[list[Hit]]:
        """Return the k best hits for each question, or for the first few."""
        options = {**setting.options(), "parents": parents}
        texts = [question.text for question, _ in self.questions[:questions]]
        if not setting.fuse:
            return self._ranked(store, setting, texts, k, options)
        words = {"lexical": 1.0, "parents": parents}
        by_vectors = self._ranked(store, setting, texts, _UNITS, options)
        by_words = self._ranked(store, setting, texts, _UNITS, words)
        pairs = zip(by_vectors, by_words, strict=True)
        return [fuse_ranks(*pair)[:k] for pair in pairs]

    def _ranked(
        self,
        store: UnitStore,
        setting: Setting,
        texts: Sequence[str],
        k: int,
        options: dict[str, Any],
    ) -> list[list[Hit]]:
        starts = range(0, len(texts), _BATCH)
        hits: list[list[Hit]] = []
        for start in tracked(
            starts, show=self._progress, unit=" batches", total=len(starts), desc=setting.name
        ):
            batch = slice(start, start + _BATCH)
            if options.get("lexical") == 1:
                hits += store.search_batch(texts[batch], k, **options)
            else:
                queries = self._encoded(setting.encoder)[: len(texts)][batch]
                hits += store.search_batch_by_vector(queries, k, texts=texts[batch], **options)
        return hits

    def _encoded(self, name: str) -> Vectors:
        """Return the vectors of all questions."""
        if name not in self._queries:
            texts = [question.text for question, _ in self.questions]
            self._queries[name] = self._encoder(name).encode_queries(texts)
        return self._queries[name]

    # -- Work that settings share --

    def _split(self) -> list[Unit]:
        """Return the passages of the corpus."""
        if self._passages is None:
            least = min(MIN_WORDS, self._words // 2)
            passages: dict[str, Unit] = {}
            for document in tracked(
                self.documents, show=self._progress, unit=" documents", desc="splitting"
            ):
                units = split_passages(document, words=self._words, min_words=least)
                if not units and document.text.strip():
                    units = [whole_passage(document)]
                passages |= {unit.id: unit for unit in units}
            self._passages = list(passages.values())
        return self._passages

    def _decomposed(self) -> tuple[list[Unit], float]:
        """Return the propositions, and the seconds that they took, in this run or an earlier one."""
        if self._propositions is None:
            propositionizer = self._propositionizer
            if self._cache is not None:
                file = self._cache / "propositions.sqlite"
                file.parent.mkdir(parents=True, exist_ok=True)
                show = bool(self._progress)
                propositionizer = CachedPropositionizer(propositionizer, file, progress=show)
            began = time.perf_counter()
            units = decompose(self._split(), propositionizer).units
            seconds = time.perf_counter() - began
            kept = self._read("propositions")
            if kept is None:
                self._write("propositions", {"seconds": seconds})
            else:
                seconds = kept["seconds"]
            self._propositions = list({unit.id: unit for unit in units}.values()), seconds
        return self._propositions

    def _encoder(self, name: str) -> VectorCache:
        name = name if name in self._encoders else next(iter(self._encoders))
        if name not in self._caches:
            folder = None if self._cache is None else self._cache / "vectors"
            self._caches[name] = VectorCache(self._encoders[name], folder, progress=self._progress)
        return self._caches[name]

    def _store(self, setting: Setting) -> UnitStore:
        """Return a store with what a setting searches; settings of ours share one for each encoder."""
        key = (setting.encoder, "ours", 0)
        if setting.is_foreign:
            key = (setting.encoder, setting.units, setting.size)
        if key in self._stores:
            return self._stores[key]
        has_vectors = True
        if setting.is_foreign:
            units = chunks(self.documents, setting.units, setting.size)
            template, kinds = "{text}", [Granularity.PASSAGE]
        else:
            template = EMBED_TEMPLATE
            ours = [other for other in self.settings if (other.encoder, "ours", 0) == key]
            wanted = {kind for other in ours if not other.is_foreign for kind in other.vector_kinds}
            kinds = [kind for kind in Granularity if kind in wanted | {Granularity.PASSAGE}]
            has_vectors = bool(wanted)
            propositions: list[Unit] = []
            if Granularity.PROPOSITION in kinds:
                propositions, _ = self._decomposed()
            units = assemble(self._split(), propositions, kinds)
        store = UnitStore(
            encoder=self._encoder(setting.encoder) if has_vectors else None,
            granularities=kinds,
            embed_template=template,
            index="Flat",  # exact: an approximate index would blur what is compared
            progress=False,
        )
        store.add(units, vectors=None if has_vectors else [None] * len(units))
        self._stores[key] = store
        return store

    def _checks(self, questions: Sequence[Question], golds: Sequence[Gold | None]) -> list[Check]:
        kept = self._read("doubts")
        if kept is None:
            found = check_questions(questions, golds, self.documents, len(self._split()))
            self._write("doubts", [asdict(check) for check in found])
            return found
        return [Check(**check) for check in kept]

    # -- The cache --

    def _hashes(self) -> dict[str, str]:
        corpus = [(document.id, document.title, document.text) for document in self.documents]
        asked = [(asdict(question), asdict(gold)) for question, gold in self.questions]
        name = getattr(self._propositionizer, "name", type(self._propositionizer).__name__)
        return {
            "corpus": content_id(corpus),
            "questions": content_id(asked),
            "propositionizer": str(name),
        }

    def _name_of(self, encoder: str) -> str:
        chosen = self._encoders.get(encoder) or next(iter(self._encoders.values()))
        return str(getattr(chosen, "name", type(chosen).__name__))

    def _result_key(self, setting: Setting) -> str:
        record = {**setting.record(), "encoder": self._name_of(setting.encoder)}
        return content_id(_FORMAT, version("factoid"), self._key, self._words, record)

    def _file(self, setting: Setting) -> Path | None:
        return self._path(self._result_key(setting))

    def _path(self, name: str) -> Path | None:
        """Return the file of something that depends on corpus, questions and recipe."""
        if self._cache is None:
            return None
        names = sorted(map(self._name_of, self._encoders))
        key = content_id(_FORMAT, version("factoid"), self._key, self._words, names, name)
        return self._cache / "results" / f"{key}.json"

    def _read(self, name: str) -> Any:
        path = self._path(name)
        if path is None or not path.is_file():
            return None
        return parse_json(read_whole(path))

    def _write(self, name: str, value: Any) -> None:
        path = self._path(name)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps(value).encode()
            write_file(path, lambda out: out.write(content))


def fuse_ranks(*rankings: Sequence[Hit]) -> list[Hit]:
    """Return hits by the sum of their reciprocal ranks, as `EnsembleRetriever` does with equal weights."""
    scores: dict[str, float] = {}
    by_id: dict[str, Hit] = {}
    for hits in rankings:
        for rank, hit in enumerate(hits, start=1):
            by_id.setdefault(hit.unit.id, hit)
            scores[hit.unit.id] = scores.get(hit.unit.id, 0.0) + 1 / (_RANK_CONSTANT + rank)
    order = sorted(scores, key=lambda key: -scores[key])
    return [replace(by_id[key], score=scores[key]) for key in order]
