"""`factoid split`: files into units, as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from factoid.cli import options as opts
from factoid.cli.options import option
from factoid.cli.propositionizers import forget_failures, make_propositionizer
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from factoid.units import Unit

_BATCH = 64  # passages decomposed together: output starts early, and models still get full batches


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
    from factoid.propositions import Report, decompose
    from factoid.propositions.cached_propositionizer import with_cache
    from factoid.split import split_sentences

    if retry_failed and not cache:
        message = "--retry-failed needs --cache, where failures are kept"
        raise InvalidInputError(message)
    propositionizer = make_propositionizer(splitting) if granularity == "proposition" else None
    passages = opts.read_passages(paths, splitting.words, show_progress=opts.show_progress(quiet))
    if propositionizer is None:
        for passage in passages:
            _print_units([passage] if granularity == "passage" else split_sentences(passage))
        return
    if retry_failed and cache:
        forget_failures(cache)
    report = Report()
    propositionizer = with_cache(propositionizer, cache)
    while batch := list(islice(passages, _BATCH)):
        decomposition = decompose(batch, propositionizer, unsupported=unsupported)
        report += decomposition.report
        _print_units(decomposition.units)
    if not quiet:
        print(report, file=sys.stderr)


def _print_units(units: Iterable[Unit]) -> None:
    for unit in units:
        fields = asdict(unit)
        del fields["payload"]  # comes only from those who store units
        opts.print_json(fields)
