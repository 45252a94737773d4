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

from factoid.encode import Encoder, Vectors
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import exact_match, f1
from factoid.evaluate.checks import Check, check_answers, check_questions, check_truncation
from factoid.evaluate.comparison import Asked, Tried
from factoid.evaluate.gold import Gold, GoldFinder
from factoid.evaluate.measures import DEPTH, READ, WORDS, Answer, Reading, Top, answer_of
from factoid.evaluate.questions import Question
from factoid.evaluate.reader_cache import ReaderCache
from factoid.evaluate.settings import Setting, check_settings, chunks, default_settings
from factoid.evaluate.vector_cache import VectorCache
from factoid.files.atomic import write_file
from factoid.files.lines import parse_json, read_whole
from factoid.heading_template import EMBED_TEMPLATE, encoded_text, with_metadata
from factoid.packing import pack_context
from factoid.progress import tracked
from factoid.propositions import Contextualizer, Propositionizer, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import CachedPropositionizer
from factoid.propositions.contextualizer import CONTEXT, CachedContextualizer, checked_contexts
from factoid.propositions.decompose import decompose
from factoid.readers.reader import Reader
from factoid.split import WORDS as PASSAGE_WORDS
from factoid.split import split_passages, split_sentences
from factoid.store import UnitStore
from factoid.store.document_units import assemble, whole_passage
from factoid.units import Document, Granularity, Hit, Unit, content_id, whole_number
from factoid.words import count_words, cut_words

_FORMAT = 3  # of cached answers
_UNITS = 100  # of a context at most, and results that fusion sees
_FEWER = 50  # units that are looked for first: they nearly always fill a context
_RANK_CONSTANT = 60  # of LangChain's EnsembleRetriever
_BATCH = 128  # questions
_FEW = 5  # results whose words are counted
_SAMPLE = 24  # passages that the cost is measured on
_TOKENS = 4 / 3  # of an English word
_WORDS_OF_CONTEXT = 25  # about, of a sentence
_AROUND = 80  # characters around a source
_LONGEST = 600  # characters of a shown text
_FLOAT = 4  # bytes


@dataclass(frozen=True)
class Estimate:
    """The cost of a run from cold.

    Attributes:
        passages: Of the corpus.
        texts: Texts to encode, about, for all encoders together.
        tokens: In them, about: four thirds of the words.
        seconds: For propositions, vectors and reading, as measured on a sample.
        money: For the tokens, in the currency of the price; None without one.
        contexts: Sentences of context that a model writes; 0 without such a setting.
        readings: Answers of the reader; 0 without one.
        words_read: In the contexts of these answers, at most.
    """

    passages: int
    texts: int
    tokens: int
    seconds: float
    money: float | None
    contexts: int = 0
    readings: int = 0
    words_read: int = 0

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self.seconds), 60)
        took = f"{seconds} s"
        if minutes:
            took = f"{minutes} min {seconds} s"
        text = f"about {self.texts:,} texts of {self.tokens:,} tokens to encode, "
        if self.contexts:
            text += f"{self.contexts:,} sentences of context to write, whose time is not in the "
            text += "estimate, "
        if self.readings:
            text += f"{self.readings:,} answers of the reader from {self.words_read:,} words, "
        text += f"{took} from cold"
        if self.money is not None:
            text += f", for {self.money:.2f}"
        return text


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
        contextualizer: Contextualizer | None = None,
        reader: Reader | None = None,
        read: Sequence[int] = READ,
        words: int = PASSAGE_WORDS,
        cache: str | Path | None = None,
        progress: bool | None = None,
    ) -> None:
        if not questions:
            raise InvalidInputError("expected at least one question, got none")
        if settings is None:
            settings = default_settings()
        self.settings = list(settings)
        if not isinstance(encoder, Mapping):
            encoder = {"": encoder}
        self._encoders = dict(encoder)
        check_settings(
            self.settings, list(self._encoders), has_contextualizer=contextualizer is not None
        )
        self._by_id = {document.id: document for document in documents}
        self.documents = list(self._by_id.values())
        if not any(document.text.strip() for document in self.documents):
            raise InvalidInputError("the corpus holds no text: name files or folders with text")
        if propositionizer is None:
            propositionizer = SyntaxPropositionizer()
        self._propositionizer = propositionizer
        self._contextualizer = contextualizer
        self._words = words
        self._cache: Path | None = None
        if cache is not None:
            self._cache = Path(cache)
        self._progress = progress
        self._reader: ReaderCache | None = None
        self._read_words: list[int] = []
        if reader is not None:
            folder = None
            if self._cache is not None:
                folder = self._cache / "readings"
            self._reader = ReaderCache(reader, folder, progress=progress)
            self._read_words = _checked_budgets(read)
        finder = GoldFinder(self.documents)
        golds = []
        self.questions: list[tuple[Question, Gold]] = []
        for question in questions:
            gold = finder.find(question)
            golds.append(gold)
            if gold is not None:
                self.questions.append((question, gold))
        if not self.questions:
            raise InvalidInputError(
                f"the corpus holds the gold of none of {len(questions):,} questions: check that "
                "quotes or answers are copied from its text, and that documents are named by "
                f"their file name or title, as of {questions[0].text[:80]!r}"
            )
        if self._reader is not None and not any(gold.answers for _, gold in self.questions):
            raise InvalidInputError(
                "no question has a short answer, which a reader's answers are compared with: add "
                "answers, or leave out the reader"
            )
        self._key = self._hashes()
        self._passages: list[Unit] | None = None
        self._propositions: tuple[list[Unit], float] | None = None
        self._contextual: tuple[list[Unit], float] | None = None
        self._caches: dict[str, VectorCache] = {}
        self._stores: dict[tuple[str, str, int, bool], UnitStore] = {}
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
                Asked(
                    question.id,
                    question.text,
                    shown[:_LONGEST],
                    group,
                    question.is_generated,
                    question.popularity,
                )
            )
        return asked

    @property
    def is_done(self) -> bool:
        """Whether the cache holds the answers of all settings."""
        for setting in self.settings:
            file = self._path(self._result_key(setting))
            if file is None or not file.is_file():
                return False
        return True

    def manifest(self) -> dict[str, Any]:
        """Return what the numbers depend on."""
        settings = [setting.record() for setting in self.settings]
        encoders = {}
        for name in self._encoders:
            encoders[name or "default"] = self._name_of(name)
        return {
            "corpus": self._key["corpus"],
            "questions": self._key["questions"],
            "settings": content_id(settings),
            "encoders": encoders,
            "propositionizer": self._key["propositionizer"],
            "contextualizer": self._name_of_contextualizer(),
            "reader": self._name_of_reader(),
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
        kinds: set[Granularity] = set()
        for setting in self.settings:
            kinds.update(setting.vector_kinds)
        seconds = 0.0
        units = list(sample)
        if Granularity.SENTENCE in kinds:
            for passage in sample:
                units += split_sentences(passage)
        if Granularity.PROPOSITION in kinds:
            decompose(sample[:1], self._propositionizer, log=False)  # loads its model
            began = time.perf_counter()
            units += decompose(sample, self._propositionizer, log=False).units
            seconds += time.perf_counter() - began
        texts = list(map(encoded_text, units))
        count = len(texts) * scale
        words = sum(map(count_words, texts))
        tokens = _TOKENS * scale * words
        # Chunks are no sample of passages, but the same words once more.
        splits = set()
        for setting in self.settings:
            if setting.is_foreign and setting.vector_kinds:
                splits.add((setting.units, setting.size))
        characters = sum(len(document.text) for document in self.documents)
        words_of_passages = sum(count_words(passage.text) for passage in sample)
        for _, size in splits:
            count += characters / size
            tokens += _TOKENS * scale * words_of_passages
        seconds_of_a_word = 0.0
        # Passages with contexts are encoded once more, with about a sentence each.
        contexts = 0
        if any(setting.contexts for setting in self.settings):
            contexts = len(passages)
            count += contexts
            tokens += _TOKENS * (scale * words_of_passages + _WORDS_OF_CONTEXT * contexts)
        names = self._names_of_encoders()
        for name in names:
            seconds_of_a_word += self._encoding_seconds(name, texts) / max(words, 1)
        readings, words_read, reading_seconds = self._reading_cost()
        seconds = seconds * scale + seconds_of_a_word * tokens / _TOKENS
        count *= len(names)
        tokens *= len(names)
        money = None
        if price is not None:
            money = price * tokens / 1e6
        return Estimate(
            len(passages),
            round(count),
            round(tokens),
            seconds + reading_seconds,
            money,
            contexts,
            readings,
            words_read,
        )

    def _encoding_seconds(self, name: str, texts: Sequence[str]) -> float:
        """Return the seconds that an encoder takes for some texts, once its model is loaded."""
        encoder = self._encoder(name).encoder
        encoder.encode_units(texts[:1])
        began = time.perf_counter()
        encoder.encode_units(texts)
        return time.perf_counter() - began

    def _reading_cost(self) -> tuple[int, int, float]:
        """Return how often a reader is asked, from how many words, and how long it may take."""
        if self._reader is None:
            return 0, 0, 0.0
        contexts = len(self.settings) * len(self.questions)
        question, _ = self.questions[0]
        text = " ".join(passage.text for passage in self._split()[: max(self._read_words)])
        reader = self._reader.reader
        reader.read(question.text, cut_words(text, 1))  # loads its model
        seconds = 0.0
        for words in self._read_words:
            began = time.perf_counter()
            reader.read(question.text, cut_words(text, words))
            seconds += time.perf_counter() - began
        return (
            contexts * len(self._read_words),
            contexts * sum(self._read_words),
            contexts * seconds,
        )

    @property
    def _answerable(self) -> list[bool]:
        """Whether each question has a short answer."""
        return [bool(gold.answers) for _, gold in self.questions]

    def truncation(self) -> list[Check]:
        """Return a doubt for each encoder that does not read passages to their end."""
        checks = self._read_checks("truncation")
        if checks is not None:
            return checks
        texts = list(map(encoded_text, self._split()))
        checks = []
        for name in sorted(self._names_of_encoders()):
            checks += check_truncation(self._encoder(name).encoder, texts, "passages")
        self._write("truncation", list(map(asdict, checks)))
        return checks

    def _names_of_encoders(self) -> set[str]:
        """Return the names of the encoders that a setting compares vectors of."""
        return {setting.encoder for setting in self.settings if setting.vector_kinds}

    # -- One setting --

    def run(self, setting: Setting) -> tuple[Tried, tuple[Answer, ...]]:
        """Return a setting's measurements, and its answer to each question."""
        name = self._result_key(setting)
        record = self._read(name)
        if record is not None:
            tried = replace(Tried(**record["tried"]), name=setting.name)
            return tried, tuple(map(answer_of, record["answers"]))
        if Granularity.PROPOSITION in setting.vector_kinds:
            self._decomposed()
        if setting.contexts:
            self._in_context()
        store = self._store(setting)
        # The first search builds indexes, and encodes the questions.
        everyone = range(len(self.questions))
        self._search(store, setting, DEPTH, "passage", everyone[:1])
        began = time.perf_counter()
        results = self._search(store, setting, DEPTH, "passage", everyone)
        search_ms = 1000 * (time.perf_counter() - began) / len(self.questions)
        units, contexts = self._contexts(store, setting)
        readings = self._readings(contexts)
        answers = []
        words = 0
        for number, (_, gold) in enumerate(self.questions):
            passages = [hit.unit for hit in results[number]]
            for passage in passages[:_FEW]:
                words += count_words(passage.search_text)
            answer = self._answer(gold, passages, units[number], contexts[number])
            answers.append(replace(answer, readings=readings[number]))
        tried = self._tried(setting, store, search_ms, words / len(self.questions))
        self._write(name, {"tried": asdict(tried), "answers": list(map(asdict, answers))})
        return tried, tuple(answers)

    def _readings(self, contexts: Sequence[str]) -> list[tuple[Reading, ...]]:
        """Return what the reader answers to each question from the first words of its context."""
        readings: list[tuple[Reading, ...]] = [()] * len(contexts)
        if self._reader is None:
            return readings
        asked = []
        for number, (question, gold) in enumerate(self.questions):
            if gold.answers:
                asked.append((number, question.text, gold.answers))
            else:
                nothing = [Reading(words, "", 0.0, 0.0) for words in self._read_words]
                readings[number] = tuple(nothing)
        for words in self._read_words:
            texts = [text for _, text, _ in asked]
            cut = [cut_words(contexts[number], words) for number, _, _ in asked]
            answers = self._reader.read_batch(texts, cut)
            for (number, _, expected), text in zip(asked, answers, strict=True):
                reading = Reading(
                    words,
                    text[:_LONGEST],
                    float(exact_match(text, expected)),
                    f1(text, expected),
                )
                readings[number] += (reading,)
        return readings

    def _answer(
        self, gold: Gold, passages: Sequence[Unit], best: Sequence[Hit], context: str
    ) -> Answer:
        top = None
        if best:
            top = self._fact_marked_in_report(best[0])
        documents_of_gold = set(gold.document_ids)
        for place in gold.places:
            documents_of_gold.add(place.document_id)
        in_document = None
        if documents_of_gold:
            documents_of_results = {passage.document_id for passage in passages}
            in_document = not documents_of_gold.isdisjoint(documents_of_results)
        ranks = tuple(gold.first_ranks(passages))
        return Answer(ranks, gold.words_needed(context), top, in_document)

    def _fact_marked_in_report(self, hit: Hit) -> Top:
        """Return the best unit with its source and the text around it.

        `report/question.html` puts the source between `<mark>` and `</mark>`.
        """
        unit = hit.unit
        document = self._by_id[unit.document_id]
        start = unit.start
        end = min(unit.end, start + _LONGEST)
        parts = {name: round(score, 4) for name, score in hit.parts.items()}
        return Top(
            unit.search_text[:_LONGEST],
            self._name(document),
            round(hit.score, 4),
            parts,
            _tail(document.text[:start]),
            document.text[start:end],
            _head(document.text[end:]),
        )

    @staticmethod
    def _name(document: Document) -> str:
        file = PurePath(str(document.metadata.get("source", ""))).name
        return document.title or file or document.id

    def _tried(self, setting: Setting, store: UnitStore, search_ms: float, words: float) -> Tried:
        counts = store.counts()
        kinds = setting.vector_kinds
        vectors = 0
        for kind in kinds:
            vectors += counts.get(kind, 0)
        dim = 0
        seconds = 0.0
        if kinds:
            dim = self._encoded(setting.encoder).shape[1]
            encoder = self._encoder(setting.encoder)
            for texts in self._encoded_texts(setting, kinds):
                seconds += encoder.seconds(texts)
        if Granularity.PROPOSITION in kinds:
            seconds += self._decomposed()[1]
        if setting.contexts:
            seconds += self._in_context()[1]
        # A search for finer units compares those; passages are one part of its score.
        compared = list(kinds)
        if not kinds:
            compared = [Granularity.PASSAGE]
        elif len(kinds) > 1 and setting.units != "mixed":
            compared.remove(Granularity.PASSAGE)
        units = 0
        for kind in compared:
            units += counts.get(kind, 0)
        return Tried(
            name=setting.name,
            description=setting.record(),
            code=setting.code(),
            units=units,
            vectors=vectors,
            bytes=vectors * dim * _FLOAT,
            index_seconds=round(seconds, 3),
            search_ms=round(search_ms, 3),
            context_words=round(words, 1),
        )

    def _encoded_texts(self, setting: Setting, kinds: Sequence[Granularity]) -> list[list[str]]:
        """Return the texts that are encoded for a setting, by granularity."""
        if setting.is_foreign:
            pieces = chunks(self.documents, setting.units, setting.size)
            return [[piece.text for piece in pieces]]
        texts = []
        for kind in kinds:
            template = EMBED_TEMPLATE
            units = self._split()
            if kind is Granularity.PASSAGE and setting.contexts:
                template = with_metadata(EMBED_TEMPLATE, [CONTEXT])
                units = self._in_context()[0]
            if kind is Granularity.SENTENCE:
                sentences: list[Unit] = []
                for passage in units:
                    sentences += split_sentences(passage)
                units = sentences
            if kind is Granularity.PROPOSITION:
                units = self._decomposed()[0]
            texts.append([encoded_text(unit, template) for unit in units])
        return texts

    # -- Searching --

    def _contexts(self, store: UnitStore, setting: Setting) -> tuple[list[list[Hit]], list[str]]:
        """Return the best units for each question, and the words that a reader gets of them."""
        everyone = range(len(self.questions))
        units = self._search(store, setting, _FEWER, "unit", everyone)
        contexts = list(map(_context, units))
        short = []
        for number in everyone:
            is_full = count_words(contexts[number]) >= WORDS
            if len(units[number]) >= _FEWER and not is_full:
                short.append(number)
        more = self._search(store, setting, _UNITS, "unit", short)
        for number, hits in zip(short, more, strict=True):
            units[number] = hits
            contexts[number] = _context(hits)
        return units, contexts

    def _search(
        self,
        store: UnitStore,
        setting: Setting,
        k: int,
        parents: str,
        numbers: Sequence[int],
    ) -> list[list[Hit]]:
        """Return the k best hits for the questions with some numbers."""
        options = {**setting.options(), "parents": parents}
        if not setting.fuse:
            return self._ranked(store, setting, numbers, k, options)
        words = {"lexical": 1.0, "parents": parents}
        by_vectors = self._ranked(store, setting, numbers, _UNITS, options)
        by_words = self._ranked(store, setting, numbers, _UNITS, words)
        fused = map(fuse_ranks, by_vectors, by_words)
        return [hits[:k] for hits in fused]

    def _ranked(
        self,
        store: UnitStore,
        setting: Setting,
        numbers: Sequence[int],
        k: int,
        options: dict[str, Any],
    ) -> list[list[Hit]]:
        all_texts = self._texts_of_questions()
        starts = range(0, len(numbers), _BATCH)
        hits: list[list[Hit]] = []
        for start in tracked(
            starts, show=self._progress, unit=" batches", total=len(starts), desc=setting.name
        ):
            batch = list(numbers[start : start + _BATCH])
            texts = [all_texts[number] for number in batch]
            if options.get("lexical") == 1:
                hits += store.search_batch(texts, k, **options)
            else:
                queries = self._encoded(setting.encoder)[batch]
                hits += store.search_batch_by_vector(queries, k, texts=texts, **options)
        return hits

    def _encoded(self, name: str) -> Vectors:
        """Return the vectors of all questions."""
        if name not in self._queries:
            texts = self._texts_of_questions()
            self._queries[name] = self._encoder(name).encode_queries(texts)
        return self._queries[name]

    def _texts_of_questions(self) -> list[str]:
        return [question.text for question, _ in self.questions]

    # -- Work that settings share --

    def _split(self) -> list[Unit]:
        """Return the passages of the corpus."""
        if self._passages is None:
            passages: dict[str, Unit] = {}
            for document in tracked(
                self.documents, show=self._progress, unit=" documents", desc="splitting"
            ):
                units = split_passages(document, words=self._words)
                if not units and document.text.strip():
                    units = [whole_passage(document)]
                passages |= {unit.id: unit for unit in units}
            self._passages = list(passages.values())
        return self._passages

    def _decomposed(self) -> tuple[list[Unit], float]:
        """Return the propositions, and the seconds that they took in this or an earlier run."""
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
            record = self._read("propositions")
            if record is None:
                self._write("propositions", {"seconds": seconds})
            else:
                seconds = record["seconds"]
            distinct = {unit.id: unit for unit in units}
            self._propositions = (list(distinct.values()), seconds)
        return self._propositions

    def _in_context(self) -> tuple[list[Unit], float]:
        """Return passages with their contexts, and the seconds that these took."""
        if self._contextual is None:
            contextualizer = self._contextualizer
            if contextualizer is None:
                raise InvalidInputError("contexts need a contextualizer")
            if self._cache is not None:
                file = self._cache / "contexts.sqlite"
                file.parent.mkdir(parents=True, exist_ok=True)
                contextualizer = CachedContextualizer(contextualizer, file)
            by_document: dict[str, list[Unit]] = {}
            for passage in self._split():
                by_document.setdefault(passage.document_id, []).append(passage)
            began = time.perf_counter()
            contextual = []
            for document_id, passages in tracked(
                by_document.items(),
                show=self._progress,
                unit=" documents",
                total=len(by_document),
                desc="contexts",
            ):
                document = self._by_id[document_id]
                texts = checked_contexts(contextualizer, document, passages)
                for passage, text in zip(passages, texts, strict=True):
                    metadata = {**passage.metadata}
                    if text:
                        metadata[CONTEXT] = text
                    contextual.append(replace(passage, metadata=metadata))
            seconds = time.perf_counter() - began
            record = self._read("contexts")
            if record is None:
                self._write("contexts", {"seconds": seconds})
            else:
                seconds = record["seconds"]
            self._contextual = (contextual, seconds)
        return self._contextual

    def _encoder(self, name: str) -> VectorCache:
        if name not in self._encoders:
            name = next(iter(self._encoders))
        if name not in self._caches:
            folder = None
            if self._cache is not None:
                folder = self._cache / "vectors"
            self._caches[name] = VectorCache(self._encoders[name], folder, progress=self._progress)
        return self._caches[name]

    def _store(self, setting: Setting) -> UnitStore:
        """Return a store with what a setting searches; our settings with one encoder share it."""
        key = (setting.encoder, "ours", 0, setting.contexts)
        if setting.is_foreign:
            key = (setting.encoder, setting.units, setting.size, False)
        if key in self._stores:
            return self._stores[key]
        has_vectors = True
        embed_metadata = []
        if setting.is_foreign:
            units = chunks(self.documents, setting.units, setting.size)
            template = "{text}"
            kinds = [Granularity.PASSAGE]
        else:
            template = EMBED_TEMPLATE
            vector_kinds: set[Granularity] = set()
            for other in self.settings:
                is_alike = other.encoder == setting.encoder and other.contexts == setting.contexts
                if is_alike and not other.is_foreign:
                    vector_kinds.update(other.vector_kinds)
            has_vectors = bool(vector_kinds)
            vector_kinds.add(Granularity.PASSAGE)
            kinds = [kind for kind in Granularity if kind in vector_kinds]
            propositions: list[Unit] = []
            if Granularity.PROPOSITION in kinds:
                propositions, _ = self._decomposed()
            passages = self._split()
            if setting.contexts:
                passages, _ = self._in_context()
                embed_metadata = [CONTEXT]
            units = assemble(passages, propositions, kinds)
        encoder = None
        vectors: list[None] | None = [None] * len(units)
        if has_vectors:
            encoder = self._encoder(setting.encoder)
            vectors = None
        store = UnitStore(
            encoder=encoder,
            granularities=kinds,
            embed_template=template,
            embed_metadata=embed_metadata,
            index="Flat",  # exact: an approximate index would blur what is compared
            progress=False,
        )
        store.add(units, vectors=vectors)
        self._stores[key] = store
        return store

    def _checks(self, questions: Sequence[Question], golds: Sequence[Gold | None]) -> list[Check]:
        checks = self._read_checks("doubts")
        if checks is not None:
            return checks
        checks = check_questions(questions, golds, self.documents, len(self._split()))
        if self._reader is not None:
            checks += check_answers(self._answerable)
        self._write("doubts", list(map(asdict, checks)))
        return checks

    def _read_checks(self, name: str) -> list[Check] | None:
        records = self._read(name)
        if records is None:
            return None
        return [Check(**record) for record in records]

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
        known = self._encoders.get(encoder) or next(iter(self._encoders.values()))
        return str(getattr(known, "name", type(known).__name__))

    def _name_of_reader(self) -> str:
        """Return the reader and its numbers of words, or "" without one."""
        if self._reader is None:
            return ""
        numbers = ", ".join(map(str, self._read_words))
        return f"{self._reader.name}, from {numbers} words"

    def _name_of_contextualizer(self) -> str:
        """Return the name of the contextualizer if a setting has contexts, else ""."""
        if self._contextualizer is None or not any(each.contexts for each in self.settings):
            return ""
        return self._contextualizer.name

    def _result_key(self, setting: Setting) -> str:
        record = {**setting.record(), "encoder": self._name_of(setting.encoder)}
        key = {**self._key, "reader": self._name_of_reader()}
        if setting.contexts:
            key["contextualizer"] = self._name_of_contextualizer()
        return content_id(_FORMAT, version("factoid"), key, self._words, record)

    def _path(self, name: str) -> Path | None:
        """Return the file of something that depends on corpus, questions and recipe."""
        if self._cache is None:
            return None
        names = sorted(map(self._name_of, self._encoders))
        others = (self._name_of_reader(), self._name_of_contextualizer())
        key = content_id(_FORMAT, version("factoid"), self._key, self._words, names, others, name)
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


def _context(hits: Sequence[Hit]) -> str:
    """Return the first words of the best units, as the words curve counts them."""
    if not hits:
        return ""
    return pack_context(hits, words=WORDS, headings=False)


def _tail(text: str) -> str:
    """Return the last whole words of a text, as many as are shown before a source."""
    if len(text) <= _AROUND:
        return text
    _, _, words = text[-_AROUND:].partition(" ")
    return f"… {words}"


def _head(text: str) -> str:
    """Return the first whole words of a text, as many as are shown behind a source."""
    if len(text) <= _AROUND:
        return text
    words, _, _ = text[:_AROUND].rpartition(" ")
    return f"{words} …"


def _checked_budgets(read: Sequence[int]) -> list[int]:
    """Return distinct numbers of words that a reader gets, fewest first."""
    budgets = sorted({whole_number("words that a reader gets", words) for words in read})
    if not budgets or budgets[-1] > WORDS:
        raise InvalidInputError(
            f"expected numbers of words that a reader gets, from 1 to {WORDS}, got {list(read)}"
        )
    return budgets


def fuse_ranks(*rankings: Sequence[Hit]) -> list[Hit]:
    """Return hits by the sum of their reciprocal ranks.

    LangChain's `EnsembleRetriever` does so with equal weights.
    """
    scores: dict[str, float] = {}
    by_id: dict[str, Hit] = {}
    for hits in rankings:
        for rank, hit in enumerate(hits, start=1):
            by_id.setdefault(hit.unit.id, hit)
            scores[hit.unit.id] = scores.get(hit.unit.id, 0.0) + 1 / (_RANK_CONSTANT + rank)
    order = sorted(scores, key=lambda key: -scores[key])
    return [replace(by_id[key], score=scores[key]) for key in order]
