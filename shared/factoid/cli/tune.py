"""`factoid tune`: choose the kind of index for a store, or the weights for its searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.errors import InvalidInputError
from factoid.files.lines import read_records, read_whole
from factoid.terminal import count
from factoid.units import check_text

if TYPE_CHECKING:
    from factoid.store import TuneRow, WeightsReport


def tune(
    store: opts.StorePath,
    granularity: Annotated[
        opts.GranularityName, option(None, "Granularity whose vectors are searched.")
    ] = "proposition",
    kinds: Annotated[
        list[str] | None,
        option("KIND", 'FAISS factory strings, as in "Flat HNSW32".', default="some worth trying"),
    ] = None,
    k: Annotated[int, option("N", "Number of vectors that a search should find.", "-k")] = 10,
    query_file: Annotated[
        Path | None,
        option(
            "FILE",
            "Users' questions, one per line; without it, vectors of the store serve as easier "
            "questions.",
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        option(
            "FILE",
            'Fit the weights of passage and words instead, to JSON lines with a "question" and its '
            '"answers"; keep better ones.',
        ),
    ] = None,
    dry_run: Annotated[
        bool, option(None, "With --answers: do not change the store.", "--dry-run")
    ] = False,
    encoder: opts.EncoderName = None,
    *,
    output: opts.Output,
) -> None:
    """Measure kinds of index, or fit the weights of searches.

    Kinds are measured on a store's own vectors, weights fitted to questions with answers.
    """
    from factoid.files.encodings import decode

    show = output.progress
    if answers is not None:
        pairs = list(
            read_records(answers, _answered, expected='{"question": "…", "answers": ["…"]}')
        )
        with opts.open_store(
            store, encoder=opts.make_encoder(encoder), read_only=dry_run
        ) as opened:
            fitted = opened.tune_weights(
                pairs, granularity=granularity, keep=not dry_run, progress=show
            )
        output.print(fitted, "\n".join(_fitted(fitted)))
        return
    questions = None
    if query_file is not None:
        lines = decode(read_whole(query_file), str(query_file)).splitlines()
        questions = [line.strip() for line in lines if line.strip()]
    names = " ".join(kinds or ()).split() or None
    loaded_encoder = None
    if questions:
        loaded_encoder = opts.make_encoder(encoder)
    with opts.open_store(store, encoder=loaded_encoder, read_only=True) as opened:
        rows = opened.tune(
            granularity=granularity, kinds=names, questions=questions, k=k, progress=show
        )
    output.print({"store": store, "rows": list(map(asdict, rows))}, "\n".join(_table(rows)))


def _answered(record: dict[str, Any]) -> tuple[str, list[str]]:
    question = record["question"]
    answers = record["answers"]
    check_text(question, "question")
    if not isinstance(answers, list) or not all(
        isinstance(answer, str) and answer.strip() for answer in answers
    ):
        raise InvalidInputError("answers must be texts")
    return question, answers


def _fitted(report: WeightsReport) -> Iterator[str]:
    questions = count(report.questions, "question")
    yield f"{questions}, {report.answerable:,} with an answer among the passages found"
    for name, weights, mrr in (
        ("current", report.current, report.current_mrr),
        ("fitted", report.best, report.held_out_mrr),
    ):
        yield (
            f"{name}: passage {weights.passage:g}, words {weights.lexical:g}, "
            f"mean reciprocal rank {mrr:.3f}"
        )
    low, high = report.gain
    yield f"gain on questions that the weights were not fitted to: {low:+.3f} to {high:+.3f} (95 %)"
    if report.applied:
        yield "the store uses the fitted weights from now on"
    else:
        yield "the store keeps its weights"


def _table(rows: list[TuneRow]) -> Iterator[str]:
    yield f"{'kind':<18}{'search':<18}{'recall':>8}{'ms':>9}{'bytes/vector':>14}{'build, s':>10}"
    for row in rows:
        parameters = ", ".join(f"{name} {value}" for name, value in row.parameters.items())
        speed = f"{row.recall:>8.3f}{row.median_ms:>9.3f}"
        cost = f"{row.bytes_per_vector:>14,.0f}{row.build_s:>10.2f}"
        yield f"{row.kind:<17} {parameters:<17} {speed}{cost}"
