"""`factoid compare`: which granularity to use, on one's own documents and questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from factoid._optional import require
from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.errors import InvalidInputError
from factoid.files.atomic import write_file
from factoid.terminal import count

if TYPE_CHECKING:
    from factoid.evaluate.bench import Estimate
    from factoid.evaluate.checks import Check
    from factoid.evaluate.comparison import Comparison
    from factoid.evaluate.questions import Question
    from factoid.evaluate.settings import Setting
    from factoid.propositions import Contextualizer
    from factoid.readers import Reader
    from factoid.units import Document

_CHUNK = 500
_PAGE = Path("comparison.html")
_RESULTS = ".results.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What is written: a group of options (see `grouped`)."""

    page: Annotated[
        Path, option("FILE", "The page to write; its JSON and cache are written beside it.")
    ] = _PAGE
    table: Annotated[
        Path | None,
        option("FILE", "Write every question with every setting as CSV, too.", "--csv"),
    ] = None
    figures: Annotated[
        Path | None, option("DIR", "Write figures for a paper, as SVG and PNG, too.")
    ] = None

    @property
    def results(self) -> Path:
        """The JSON beside the page."""
        return self.page.with_suffix(_RESULTS)

    def check(self, inputs: Sequence[str | Path]) -> None:
        """Refuse to write over what is read, or in place of a folder or a file."""
        read = {Path(file).resolve() for file in inputs}
        for file in (self.page, self.results, self.table):
            if file is None:
                continue
            if file.resolve() in read:
                raise InvalidInputError(f"{file} would be overwritten: name another file")
            if file.is_dir():
                raise InvalidInputError(f"{file} is a folder: name a file to write")
        if self.figures is not None:
            require("matplotlib", extra="figures")
            if self.figures.exists() and not self.figures.is_dir():
                raise InvalidInputError(f"{self.figures} is a file: name a folder for --figures")

    def write(self, compared: Comparison) -> None:
        """Write all of it."""
        from factoid.report.page import write
        from factoid.report.paper_figures import write_figures

        compared.save(self.results)
        write(compared, self.page)
        if self.table is not None:
            content = compared.to_csv().encode()
            write_file(self.table, lambda out: out.write(content))
        if self.figures is not None:
            write_figures(compared, self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The models that are asked: a group of options (see `grouped`)."""

    reader: Annotated[
        str | None,
        option(
            "NAME",
            "Also let a reader answer from the first words of context (EM and F1): extractive (no "
            "model), openai (the chat model of --model), or a model of transformers, by name or "
            "folder.",
        ),
    ] = None
    read_words: Annotated[
        list[int] | None,
        option(
            "N",
            "How many first words the reader gets; may be repeated.",
            default="100 and 500",
        ),
    ] = None
    write_questions: Annotated[
        int | None,
        option(
            "N",
            "Let the chat model of --model write N questions from the corpus into the file of "
            "--questions first.",
        ),
    ] = None


def compare(
    corpus: opts.Paths,
    questions: Annotated[
        Path,
        option(
            "FILE",
            "Questions, each with a quote and its document, or answers: JSON lines, CSV, SQuAD, "
            "NQ-open, DPR, EntityQuestions, LegalBench-RAG, data sets of LlamaIndex and "
            "LangSmith, or a folder of BEIR or TREC.",
            default=False,
        ),
    ],
    setting: Annotated[
        list[str] | None,
        option(
            "NAME", "Only this setting of docs/compare.md; may be repeated.", default="the usual"
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        option(
            "NAME", "The setting that others are compared with.", default="chunks, else the first"
        ),
    ] = None,
    measure: Annotated[
        str,
        option("NAME", 'What decides: Success@k, R@k, nDCG@k, MRR or "within N words".'),
    ] = "Success@5",
    sample: Annotated[
        int | None, option("N", "Only so many questions, evenly spread.", default="all")
    ] = None,
    chunk: Annotated[int, option("N", "Characters of a chunk.")] = _CHUNK,
    price: Annotated[
        float | None, option("NUMBER", "Price of a million tokens of the encoder.")
    ] = None,
    earlier: Annotated[
        Path | None,
        option("FILE", "Print what differs from the JSON of an earlier run.", "--earlier"),
    ] = None,
    dry_run: Annotated[
        bool, option(None, "Print doubts and cost, and stop there.", "--dry-run")
    ] = False,
    encoder: opts.EncoderName = None,
    *,
    outputs: Outputs,
    asking: Asking,
    reading: opts.Reading,
    splitting: opts.Splitting,
    output: opts.Output,
) -> None:
    """Compare granularities, and chunks, on your own documents and questions.

    A page is written that says which to use.
    """
    from factoid.evaluate.compare import compare as run
    from factoid.evaluate.comparison import Comparison
    from factoid.evaluate.measures import READ

    if not dry_run:
        require("jinja2", extra="report")  # before an hour's work, not after it
    outputs.check([*corpus, questions])
    earlier_run = None
    if earlier is not None:
        earlier_run = Comparison.load(earlier, reading.limits)
    cache = None
    if not dry_run:
        cache = outputs.page.with_suffix(".cache")
    settings = _settings(setting, chunk)
    if asking.write_questions is not None:
        _write_questions(
            questions, corpus, asking.write_questions, reading, splitting, output, dry=dry_run
        )
    asked = opts.evenly_spread(_questions(questions, reading), sample)

    def before(checks: Sequence[Check], estimate: Estimate) -> None:
        if not output.quiet or dry_run:
            for check in checks:
                print(f"{check.name}: {check.message}", file=sys.stderr)
            print(f"cost: {estimate}", file=sys.stderr)
        if dry_run:
            raise typer.Exit

    compared = run(
        _documents(corpus, reading),
        asked,
        settings,
        encoder=opts.make_encoder(encoder),
        propositionizer=opts.make_propositionizer(splitting),
        contextualizer=_contextualizer(settings, splitting),
        reader=_reader(asking.reader, splitting, output),
        read=asking.read_words or READ,
        baseline=baseline,
        measure=measure,
        words=splitting.words,
        cache=cache,
        price=price,
        command=" ".join(["factoid compare", *corpus, "--questions", str(questions)]),
        before=before,
        progress=output.progress,
    )
    outputs.write(compared)
    if earlier_run is not None and not output.as_json:
        print("\n".join(compared.changes(earlier_run)) or "nothing differs", end="\n\n")
    output.print(_summary(compared, outputs), "\n".join(_lines(compared, outputs)))


def _questions(file: Path, reading: opts.Reading) -> list[Question]:
    """Return the questions of a file; if there is none, say how to get one."""
    from factoid.evaluate.questions import read_questions

    if not file.exists():
        raise InvalidInputError(
            f"there is no file {file}: write one with the columns question, quote and document, or "
            "let a chat model write it with --write-questions 50 --model NAME"
        )
    return read_questions(file, limits=reading.limits)


def _write_questions(
    file: Path,
    corpus: Sequence[str],
    count: int,
    reading: opts.Reading,
    splitting: opts.Splitting,
    output: opts.Output,
    *,
    dry: bool,
) -> None:
    """Let a chat model write questions into a file."""
    from factoid.evaluate.chat import ChatModel
    from factoid.evaluate.written_questions import to_records, write_questions

    if file.exists():
        raise InvalidInputError(
            f"{file} exists: leave out --write-questions to use it, or name another file"
        )
    if dry:
        print(f"cost: about {round(1.3 * count):,} requests to write questions", file=sys.stderr)
        raise typer.Exit
    client, model = opts.make_client(splitting, "--write-questions N --model NAME")
    documents = _documents(corpus, reading)
    chat = ChatModel(client, model, temperature=splitting.temperature, progress=output.progress)
    written = write_questions(documents, chat.complete, count)
    lines = []
    for record in to_records(written.questions, documents):
        lines.append(json.dumps(record, ensure_ascii=False))
    content = "\n".join([*lines, ""]).encode()
    write_file(file, lambda out: out.write(content))
    if not output.quiet:
        print(f"wrote {written} into {file}: look at them", file=sys.stderr)


def _reader(name: str | None, splitting: opts.Splitting, output: opts.Output) -> Reader | None:
    """Return the reader that --reader names, or None."""
    from factoid.evaluate.chat import ChatModel
    from factoid.readers import CausalReader, ExtractiveReader, Seq2SeqReader
    from factoid.readers.seq2seq import is_encoder_decoder

    if name is None:
        return None
    if name == "extractive":
        return ExtractiveReader()
    if name == "openai":
        client, model = opts.make_client(splitting, "--reader openai --model NAME")
        return ChatModel(client, model, temperature=splitting.temperature, progress=output.progress)
    if is_encoder_decoder(name):
        return Seq2SeqReader(name)
    return CausalReader(name)


def _contextualizer(
    settings: Sequence[Setting], splitting: opts.Splitting
) -> Contextualizer | None:
    """Return the chat model of --model if a setting needs contexts, else None."""
    from factoid.evaluate.chat import ChatModel
    from factoid.propositions import PromptContextualizer

    if not any(setting.contexts for setting in settings):
        return None
    client, model = opts.make_client(splitting, '--setting "in context" --model NAME')
    chat = ChatModel(client, model, temperature=splitting.temperature)

    def complete(prompt: str) -> str:
        [answer] = chat.complete([prompt])
        return answer

    return PromptContextualizer(complete, name=model)


def _documents(corpus: Sequence[str], reading: opts.Reading) -> list[Document]:
    from factoid.evaluate.questions import read_corpus

    return opts.read_corpora(corpus, reading, read_corpus)


def _settings(names: list[str] | None, chunk: int) -> list[Setting]:
    """Return the settings with some names, or the usual ones for None."""
    from factoid.evaluate.settings import default_settings, other_settings

    usual = default_settings(chunk)
    if names is None:
        return usual
    by_name = {setting.name: setting for setting in [*usual, *other_settings(chunk)]}
    settings = []
    for name in names:
        if name not in by_name:
            raise InvalidInputError(f"--setting must be one of {', '.join(by_name)}, got {name!r}")
        settings.append(by_name[name])
    return settings


def _summary(compared: Comparison, outputs: Outputs) -> dict[str, object]:
    means = {row.tried.name: row.means for row in compared.rows}
    return {
        "sentence": compared.sentence,
        "setting": compared.recommendation.setting,
        "page": outputs.page.as_posix(),
        "results": outputs.results.as_posix(),
        "means": means,
        "written by a model": compared.generated,
        "checks": [check.message for check in compared.doubts],
    }


def _lines(compared: Comparison, outputs: Outputs) -> list[str]:
    """Return the sentence, a small table, and where the page is."""
    measures = list(dict.fromkeys((compared.measure, "Success@1", "within 100 words")))
    widest = max(len(row.tried.name) for row in compared.rows)
    lines = [compared.sentence, ""]
    head = " " * widest
    for column in (*measures, "MB of vectors"):
        head += f"{column:>18}"
    lines.append(head)
    for row in compared.rows:
        line = f"{row.tried.name:<{widest}}"
        for measure in measures:
            line += f"{100 * row.means[measure]:>18.1f}"
        lines.append(f"{line}{row.tried.bytes / 1e6:>18.2f}")
    lines.append("")
    serious = [check.name for check in compared.doubts if check.is_serious]
    if serious:
        doubts = f"{count(len(serious), 'serious doubt')} ({', '.join(serious)})"
        lines.append(f"{doubts}, so do not rely on this yet: see the page")
    lines.append(f"wrote {outputs.page} and {outputs.results}")
    return lines
