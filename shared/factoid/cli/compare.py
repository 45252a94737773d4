"""`factoid compare`: which granularity to use, on one's own documents and questions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    from factoid.units import Document

_CHUNK = 500
_PAGE = Path("comparison.html")
_RESULTS = ".results.json"


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
    page: Annotated[
        Path, option("FILE", "The page to write; its JSON and cache are written beside it.")
    ] = _PAGE,
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
    table: Annotated[
        Path | None,
        option("FILE", "Write every question with every setting as CSV, too.", "--csv"),
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
    reading: opts.Reading,
    splitting: opts.Splitting,
    output: opts.Output,
) -> None:
    """Compare granularities, and chunks, on your own documents and questions.

    A page is written that says which to use.
    """
    from factoid._optional import require
    from factoid.evaluate.compare import compare as run
    from factoid.evaluate.comparison import Comparison
    from factoid.evaluate.questions import read_questions
    from factoid.report.page import write

    if not dry_run:
        require("jinja2", extra="report")  # before an hour's work, not after it
    _check_outputs([page, page.with_suffix(_RESULTS), table], [*corpus, questions])
    earlier_run = None
    if earlier is not None:
        earlier_run = Comparison.load(earlier, reading.limits)
    cache = None
    if not dry_run:
        cache = page.with_suffix(".cache")
    all_questions = read_questions(questions, limits=reading.limits)
    asked = _evenly_spread(all_questions, sample)
    documents = _documents(corpus, reading)
    settings = _settings(setting, chunk)

    def before(checks: Sequence[Check], estimate: Estimate) -> None:
        if not output.quiet or dry_run:
            for check in checks:
                print(f"{check.name}: {check.message}", file=sys.stderr)
            print(f"cost: {estimate}", file=sys.stderr)
        if dry_run:
            raise typer.Exit

    compared = run(
        documents,
        asked,
        settings,
        encoder=opts.make_encoder(encoder),
        propositionizer=opts.make_propositionizer(splitting),
        baseline=baseline,
        measure=measure,
        words=splitting.words,
        cache=cache,
        price=price,
        command=" ".join(["factoid compare", *corpus, "--questions", str(questions)]),
        before=before,
        progress=output.progress,
    )
    compared.save(page.with_suffix(_RESULTS))
    write(compared, page)
    if table is not None:
        content = compared.to_csv().encode()
        write_file(table, lambda out: out.write(content))
    if earlier_run is not None and not output.as_json:
        print("\n".join(compared.changes(earlier_run)) or "nothing differs", end="\n\n")
    output.print(_summary(compared, page), "\n".join(_lines(compared, page)))


def _check_outputs(outputs: Sequence[Path | None], inputs: Sequence[str | Path]) -> None:
    """Refuse to write over what is read, or in place of a folder."""
    read = {Path(file).resolve() for file in inputs}
    for output in outputs:
        if output is None:
            continue
        if output.resolve() in read:
            raise InvalidInputError(f"{output} would be overwritten: name another file")
        if output.is_dir():
            raise InvalidInputError(f"{output} is a folder: name a file to write")


def _documents(corpus: Sequence[str], reading: opts.Reading) -> list[Document]:
    """Return the documents of files and folders, or of data sets that hold some."""
    from factoid.evaluate.questions import read_corpus
    from factoid.user_files.read import read_documents

    documents = []
    others = []
    for path in corpus:
        of_set = read_corpus(path, reading.limits)
        if of_set is None:
            others.append(path)
        else:
            documents += of_set
    if others:
        documents += read_documents(
            others, follow_links=reading.follow_links, limits=reading.limits
        )
    return documents


def _evenly_spread(questions: list[Question], count: int | None) -> list[Question]:
    """Return so many questions, or all of them for None."""
    if count is None or count >= len(questions):
        return questions
    if count < 1:
        raise InvalidInputError(f"--sample must be at least 1, got {count}")
    sample = []
    for number in range(count):
        sample.append(questions[number * len(questions) // count])
    return sample


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


def _summary(compared: Comparison, page: Path) -> dict[str, object]:
    means = {row.tried.name: row.means for row in compared.rows}
    return {
        "sentence": compared.sentence,
        "setting": compared.recommendation.setting,
        "page": page.as_posix(),
        "results": page.with_suffix(_RESULTS).as_posix(),
        "means": means,
        "checks": [check.message for check in compared.doubts],
    }


def _lines(compared: Comparison, page: Path) -> list[str]:
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
    lines.append(f"wrote {page} and {page.with_suffix(_RESULTS)}")
    return lines
