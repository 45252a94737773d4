"""Passages into propositions, with the default propositionizer made when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from factoid.propositions import Decomposition, Propositionizer, Report, adecompose, decompose
from factoid.propositions.decompose import Policy, check_policy
from factoid.units import Unit


class Decomposer:
    """A propositionizer and what to do with its unsupported propositions.

    Args:
        propositionizer: None for `SyntaxPropositionizer`.
        unsupported: As in `factoid.propositionize`.

    Attributes:
        last_report: What became of the passages of the latest call that has ended; None before the first.

    Raises:
        InvalidInputError: Unknown policy.
    """

    def __init__(self, propositionizer: Propositionizer | None, *, unsupported: Policy = "drop") -> None:
        check_policy(unsupported)
        self._propositionizer = propositionizer
        self._unsupported: Policy = unsupported
        self.last_report: Report | None = None

    def decompose(self, passages: Sequence[Unit]) -> list[Unit]:
        """Return the grounded propositions of passages."""
        return self._reported(decompose(passages, self._ready(), unsupported=self._unsupported))

    async def adecompose(self, passages: Sequence[Unit]) -> list[Unit]:
        """Do as `decompose`, without blocking the event loop."""
        propositionizer = await asyncio.to_thread(self._ready)
        return self._reported(await adecompose(passages, propositionizer, unsupported=self._unsupported))

    def _ready(self) -> Propositionizer:
        if self._propositionizer is None:
            from factoid.propositions.syntax import SyntaxPropositionizer  # loads spaCy

            self._propositionizer = SyntaxPropositionizer()
        return self._propositionizer

    def _reported(self, decomposition: Decomposition) -> list[Unit]:
        self.last_report = decomposition.report
        return decomposition.units
