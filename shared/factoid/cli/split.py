"""`factoid split`: files into units, as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from factoid.units import Unit

_BATCH = 64  # passages decomposed together: output starts early, and models still get full batches
_WINDOW = 4096  # with a cache, which divides them into batches itself


@opts.grouped
def split(
    paths: opts.Paths,
    granularity: Annotated[opts.Kind, option(None, "The units to print.")] = "proposition",
    *,
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
    show = opts.show_progress(quiet)
    bar = show and not (propositionizer and cache)  # a cache has its own
    passages = opts.read_passages(paths, splitting.words, show_progress=bar)
    if propositionizer is None:
        for passage in passages:
            _print_units([passage] if granularity == "passage" else split_sentences(passage))
        return
    if retry_failed and cache:
        PropositionCache(cache).forget(failures=True)
    report = Report()
    source = with_cache(propositionizer, cache, batch_size=_BATCH, show_progress=show)
    while batch := list(islice(passages, _WINDOW if cache else _BATCH)):
        decomposition = decompose(batch, source, unsupported=unsupported)
        report += decomposition.report
        _print_units(decomposition.units)
    if not quiet:
        print(report, file=sys.stderr)


def _print_units(units: Iterable[Unit]) -> None:
    for unit in units:
        fields = asdict(unit)
        del fields["payload"]  # comes only from those who store units
        opts.print_json(fields)
