"""Passages into propositions, with the default propositionizer made when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from factoid.propositions import Decomposition, PropositionCache, Propositionizer, Report, adecompose, decompose
from factoid.propositions.caching.choose import acaching, caching
from factoid.propositions.decompose import Policy, check_policy
from factoid.propositions.protocol import check_propositionizer
from factoid.units import Unit


class Decomposer:
    """A propositionizer and what to do with its unsupported propositions.

    Args:
        propositionizer: None for `SyntaxPropositionizer`.
        unsupported: As in `factoid.propositionize`.
        cache: Keeps the propositions; a path is opened for the time of each call.
        store: A store's folder, whose own cache serves where there is none and the propositionizer is costly.

    Attributes:
        last_report: What became of the passages of the latest call that has ended; None before the first.

    Raises:
        InvalidInputError: Unknown policy, no propositionizer, or no cache.
    """

    def __init__(
        self,
        propositionizer: Propositionizer | None,
        *,
        unsupported: Policy = "drop",
        cache: PropositionCache | str | Path | None = None,
        store: Path | None = None,
    ) -> None:
        check_policy(unsupported)
        if propositionizer is not None:
            check_propositionizer(propositionizer)
        if cache is not None and not isinstance(cache, PropositionCache):
            PropositionCache(cache)  # refuses what is no path; opens no file
        self._cache = cache
        self._store = store
        self._propositionizer = propositionizer
        self._unsupported: Policy = unsupported
        self.last_report: Report | None = None

    def decompose(self, passages: Sequence[Unit]) -> Decomposition:
        """Return the grounded propositions of passages, and the counts."""
        with caching(self._ready(), self._cache, store=self._store) as propositionizer:
            return self._reported(decompose(passages, propositionizer, unsupported=self._unsupported))

    async def adecompose(self, passages: Sequence[Unit]) -> Decomposition:
        """Do as `decompose`, without blocking the event loop."""
        ready = await asyncio.to_thread(self._ready)
        async with acaching(ready, self._cache, store=self._store) as propositionizer:
            return self._reported(await adecompose(passages, propositionizer, unsupported=self._unsupported))

    def _ready(self) -> Propositionizer:
        if self._propositionizer is None:
            from factoid.propositions.syntax import SyntaxPropositionizer  # loads spaCy

            self._propositionizer = SyntaxPropositionizer()
        return self._propositionizer

    def _reported(self, decomposition: Decomposition) -> Decomposition:
        self.last_report = decomposition.report
        return decomposition
