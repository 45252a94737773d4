"""`factoid tune`: choose the kind of index for a store, or the weights for its searches."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.errors import InvalidInputError
from factoid.files.lines import read_records
from factoid.terminal import count
from factoid.units import check_text

if TYPE_CHECKING:
    from factoid.store import TuneReport, TuneRow, WeightsReport

_REFINE = 10  # the default of a search


def tune(
    store: opts.StorePath,
    granularity: Annotated[opts.Kind, option(None, "Granularity whose vectors are searched.")] = "proposition",
    kinds: Annotated[
        list[str] | None, option("KIND", 'FAISS factory strings, as in "Flat HNSW32".', default="some worth trying")
    ] = None,
    k: Annotated[int, option("N", "Number of vectors that a search should find.", "-k")] = 10,
    query_file: Annotated[
        Path | None,
        option(
            "FILE",
            "Users' questions, one per line; without it, vectors of the store serve as easier questions.",
        ),
    ] = None,
    queries: Annotated[int, option("N", "Maximum number of searches.")] = 200,
    refine: Annotated[
        int,
        option("N", "Compressed kinds: candidates per result to score again with the exact vectors; 0 for none."),
    ] = _REFINE,
    recall: Annotated[float, option("R", "Minimum recall of the kinds to propose.")] = 0.95,
    limit: Annotated[
        int, option("N", "Measure on at most N vectors, taken at random; memory must hold them and an index.")
    ] = 100_000,
    answers: Annotated[
        Path | None,
        option(
            "FILE",
            'Fit the weights of passage and words instead, to JSON lines with a "question" and its "answers"; keep better ones.',
        ),
    ] = None,
    dry_run: Annotated[bool, option(None, "With --answers: do not change the store.", "--dry-run")] = False,
    encoder: opts.EncoderName = None,
    *,
    output: opts.Output,
) -> None:
    """Measure kinds of index on a store's own vectors, or fit the weights of its searches to questions with answers."""
    from factoid.files.readers import decode

    show = output.show_progress
    if answers is not None:
        pairs = list(read_records(answers, _answered, expected='{"question": "…", "answers": ["…"]}'))
        with opts.open_store(store, encoder=opts.make_encoder(encoder), read_only=dry_run) as opened:
            fitted = opened.tune_weights(pairs, granularity=granularity, keep=not dry_run, show_progress=show)
        output.print(fitted, "\n".join(_fitted(fitted)))
        return
    if not 0 <= recall <= 1:
        raise InvalidInputError(f"--recall must be from 0 to 1, got {recall}")
    questions = None
    if query_file is not None:
        lines = decode(query_file.read_bytes(), str(query_file)).splitlines()
        questions = [line.strip() for line in lines if line.strip()]
        if not questions:
            raise InvalidInputError(f"{query_file} holds no question: expected one per line")
    with opts.open_store(store, encoder=opts.make_encoder(encoder) if questions else None, read_only=True) as opened:
        report = opened.tune(
            granularity=granularity,
            kinds=[kind for value in kinds for kind in value.split()] if kinds else None,
            questions=questions,
            queries=queries,
            k=k,
            refine=refine,
            limit=limit,
            show_progress=show,
        )
    fastest, smallest = report.fastest(recall), report.smallest(recall)
    if output.as_json:
        best = {name: row and asdict(row) for name, row in (("fastest", fastest), ("smallest", smallest))}
        opts.print_json({"store": store, **asdict(report), **best})
        return
    print("\n".join([*_measured(report), "", *_table(report)]))
    if fastest is None or smallest is None:
        print(f"\nNo kind reaches a recall of {recall:g}: raise --refine, or name other --kinds.")
        return
    proposals = {"Fastest": fastest, "Smallest": smallest} if fastest != smallest else {"Fastest and smallest": fastest}
    for title, row in proposals.items():
        print(f"\n{title} with a recall of {recall:g} or more:")
        _print_proposal(row, store, report)


def _answered(record: dict[str, Any]) -> tuple[str, list[str]]:
    question, answers = record["question"], record["answers"]
    check_text(question, "question")
    if not isinstance(answers, list) or not all(isinstance(answer, str) and answer.strip() for answer in answers):
        raise InvalidInputError("answers must be texts")
    return question, answers


def _fitted(report: WeightsReport) -> Iterator[str]:
    yield f"{count(report.questions, 'question')}, {report.answerable:,} with an answer among the passages found"
    yield f"{'':<18}{'passage':>8}{'words':>7}{'MRR':>8}"
    before, after = (report.current, report.current_mrr), (report.best, report.held_out_mrr)
    for name, (weights, mrr) in (("current", before), ("fitted", after)):
        yield f"{name:<18}{weights.passage:>8g}{weights.lexical:>7g}{mrr:>8.3f}"
    low, high = report.gain
    yield (
        "\nMRR is the mean of 1 / the rank of the first passage with an answer. For the fitted weights it is cross-validated, on "
        f"questions that they were not fitted to. Their gain is {low:+.3f} to {high:+.3f} (95 %)."
    )
    if report.applied:
        yield "Searches of this store use the fitted weights from now on."
    else:
        yield "The store keeps its weights." if low > 0 else "The gain is uncertain: the store keeps its weights."


def _measured(report: TuneReport) -> Iterator[str]:
    measured = f"{count(report.vectors, f'{report.granularity} vector')} of {report.dim} dimensions"
    asked = count(report.queries, "further vector" if report.held_out else "question")
    source = " of the store, which stand for questions" if report.held_out else ""
    similarity = str(report.similarity).replace("_", " ")
    yield f"The {report.k} best of {measured}, by {similarity}, for each of {asked}{source}."
    if report.vectors + report.queries * report.held_out < report.total:
        yield (
            f"A sample of the {report.total:,} in the store (--limit): searching all takes longer, and needs more inverted "
            "lists (IVF)."
        )
    if report.refine:
        yield (
            f"Compressed kinds find {report.refine} candidates per result, which are scored again with exact vectors in memory; "
            "a store reads these from its database, which takes longer."
        )
    for kind, least in report.left_out.items():
        yield f"{kind} is left out: it needs {least:,} vectors to be trained, and there are {report.vectors:,}."


def _table(report: TuneReport) -> Iterator[str]:
    yield f"{'kind':<18}{'search':<18}{'recall':>8}{'ms':>9}{'ms (95 %)':>11}{'bytes/vector':>14}{'build, s':>10}"
    for row in report.rows:
        parameters = ", ".join(f"{name} {value}" for name, value in row.parameters.items())
        speed = f"{row.median_ms:>9.3f}{row.p95_ms:>11.3f}"
        yield (
            f"{row.kind:<17} {parameters:<17} {row.recall:>8.3f}{speed}{row.bytes_per_vector:>14,.0f}{row.build_s:>10.2f}"
        )


def _print_proposal(row: TuneRow, store: str, report: TuneReport) -> None:
    """Print the lines to copy for a proposed index."""
    from factoid.index import check_kind

    kind = str(report.granularity)
    print(f"  UnitStore({store!r}, encoder=…, index={{{kind!r}: {row.kind!r}}})")
    print(f"  factoid index FILE… --store {shlex.quote(store)} --index {kind}={row.kind}")
    arguments: dict[str, object] = {"parameters": dict(row.parameters)} if row.parameters else {}
    if report.refine not in (0, _REFINE) and check_kind(row.kind, report.dim).lossy:
        arguments["refine"] = report.refine
    if arguments:
        keywords = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        options = " ".join(f"--{name} {shlex.quote(json.dumps(value))}" for name, value in arguments.items())
        print(f"  store.search(…, granularity={kind!r}, {keywords})")
        print(f"  factoid search {shlex.quote(store)} QUESTION --granularity {kind} {options}")
