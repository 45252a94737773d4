"""`factoid split`, `estimate` and `batch`.

Split files, estimate a chat model's cost, and use OpenAI's Batch API.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError
from factoid.split import WORDS
from factoid.units import Unit

_BATCH = 64  # passages decomposed together: output starts early, and models still get full batches

Model = Annotated[str, option("NAME", "Name of the chat model.")]


def split(
    paths: opts.Paths,
    granularity: Annotated[
        opts.GranularityName, option(None, "The units to print.")
    ] = "proposition",
    *,
    reading: opts.Reading,
    splitting: opts.Splitting,
    unsupported: opts.Unsupported = "drop",
    cache: opts.CacheFile = None,
    retry_failed: opts.RetryFailed = False,
    quiet: opts.Quiet = False,
) -> None:
    """Print the passages, sentences or propositions of files as JSON lines with spans."""
    from factoid.propositions import PropositionCache, Report, decompose
    from factoid.propositions.cached_propositionizer import with_cache
    from factoid.split import split_sentences

    if retry_failed and not cache:
        raise InvalidInputError("--retry-failed needs --cache, where failures are kept")
    propositionizer = opts.make_propositionizer(splitting) if granularity == "proposition" else None
    passages = opts.read_passages(paths, splitting.words, reading, progress=opts.progress(quiet))
    if propositionizer is None:
        for passage in passages:
            units = [passage]
            if granularity != "passage":
                units = split_sentences(passage)
            _print_units(units)
        return
    if retry_failed and cache:
        PropositionCache(cache).forget(failures=True)
    report = Report()
    source = with_cache(propositionizer, cache)
    while batch := list(islice(passages, _BATCH)):
        decomposition = decompose(batch, source, unsupported=unsupported)
        report += decomposition.report
        _print_units(decomposition.units)
    if not quiet:
        print(report, file=sys.stderr)


def _print_units(units: Iterable[Unit]) -> None:
    for unit in units:
        fields = asdict(replace(unit, sentences=()))
        for name in ("payload", "sentences", "visible"):  # of no use outside of a store
            del fields[name]
        opts.print_json(fields)


def estimate(
    paths: opts.Paths,
    model: Model,
    price_in: Annotated[float | None, option("P", "Price per million prompt tokens.")] = None,
    price_out: Annotated[float | None, option("P", "Price per million answer tokens.")] = None,
    cache: Annotated[
        str | None, option("FILE", "Leave out passages whose propositions this file holds.")
    ] = None,
    words: opts.Words = WORDS,
    *,
    reading: opts.Reading,
    output: opts.Output,
) -> None:
    """Estimate the tokens and the price of decomposing files with a chat model.

    Nothing is sent.
    """
    from factoid.propositions import Prices, PropositionCache
    from factoid.propositions import estimate as estimate_cost

    if (price_in is None) != (price_out is None):
        raise InvalidInputError(
            "--price-in and --price-out go together: prompts and answers have different prices"
        )
    prices = Prices(price_in, price_out) if price_in is not None and price_out is not None else None
    passages = opts.read_passages(paths, words, reading, progress=output.progress)
    known = PropositionCache(cache) if cache and Path(cache).exists() else None
    cost = estimate_cost(passages, prices, model=model, cache=known)
    output.print(cost, cost)


def batch(
    action: Annotated[
        Literal["submit", "status", "collect", "cancel"],
        argument(
            None,
            "submit: send passages that are neither in the cache nor in a batch. status: show the "
            "state of the batches. collect: put the answers that have arrived into the cache. "
            "cancel: stop all batches.",
        ),
    ],
    model: Model,
    cache: Annotated[
        str,
        option("FILE", "Cache for the results; batches under way are recorded in FILE.batches."),
    ],
    paths: Annotated[list[str] | None, argument("PATH", f"With submit: {opts.PATHS_HELP}")] = None,
    wait: Annotated[
        bool, option(None, "With collect: wait until all batches have ended.", "--wait")
    ] = False,
    max_requests: Annotated[
        int, option("N", "Requests of a batch; fewer for an account with a short queue.")
    ] = 40_000,
    words: opts.Words = WORDS,
    temperature: opts.Temperature = 0.0,
    base_url: opts.BaseUrl = None,
    *,
    reading: opts.Reading,
    output: opts.Output,
) -> None:
    """Decompose files through OpenAI's Batch API.

    Submit, then collect into a cache, then index with that cache.
    """
    from factoid.propositions.prompting.batches import PropositionBatch

    if bool(paths) != (action == "submit"):
        expected = "no files"
        if action == "submit":
            expected = "files"
        raise InvalidInputError(f"factoid batch {action} takes {expected}")
    show = output.progress
    chat = opts.Splitting(model=model, base_url=base_url, temperature=temperature)
    batches = PropositionBatch(
        opts.make_prompted(chat), cache, max_requests=max_requests, progress=show
    )
    if action != "submit" and not batches.folder.exists():
        raise InvalidInputError(
            f"there is no {batches.folder}: name the --cache of factoid batch submit"
        )
    if action == "collect":
        report = batches.wait() if wait else batches.collect()
        lines = [
            str(report),
            f"{report.usage.prompt_tokens:,} + {report.usage.completion_tokens:,} tokens",
        ]
        if report.returned:
            lines.append("passages without an answer are sent again by: factoid batch submit")
        if rest := batches.poll():
            lines.append(f"not ended yet: {len(rest)}. Collect again later, or with --wait")
        output.print({**asdict(report), "not_ended": len(rest)}, "\n".join(lines))
        return
    if action == "submit":
        chosen = batches.submit(
            list(opts.read_passages(paths or [], words, reading, progress=show))
        )
    else:
        chosen = batches.cancel() if action == "cancel" else batches.poll()
    names = ("batch_id", "status", "completed", "requests", "error")
    rows = []
    for batch in chosen:
        rows.append({name: getattr(batch, name) for name in names})
    lines = []
    for row in rows:
        lines.append(
            "{batch_id}  {status}  {completed:,} of {requests:,} requests  {error}".format(
                **row
            ).rstrip()
        )
    output.print(
        rows, "\n".join(lines) or "no batches: everything is in the cache, or nothing was submitted"
    )
