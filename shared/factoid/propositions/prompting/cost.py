"""Tokens and money: the usage of requests, and the cost of a corpus before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from itertools import islice
from operator import add

from factoid.propositions.cache import PropositionCache, passage_key
from factoid.propositions.prompting.prompt import prompt_for, versioned_name
from factoid.units import Unit

# English prose has 4.2 to 4.9 characters per token in cl100k_base and o200k_base; other scripts
# have about one.
_CHARACTERS_PER_TOKEN = 4.5
# tokens of an answer for each token of its passage (docs/prompting.md says why)
ANSWER_RATIO = 1.35
_FRAME = 8  # tokens that mark a message and its role, and the object around the list
_CHUNK = 1024  # passages looked up together


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens used by requests, as reported by servers. Usages can be added.

    Attributes:
        requests: Answered requests; a server that reports no tokens adds only here.
        completion_tokens: Tokens of answers, including reasoning.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of a model's tokens, in any currency. Prices change, so none are shipped.

    Attributes:
        input_per_million: Price of a million prompt tokens, cached ones included.
        output_per_million: Price of a million tokens of answers.
    """

    input_per_million: float
    output_per_million: float

    def cost(self, usage: Usage, *, batch: bool = False) -> float:
        """Return the cost of some usage.

        `batch` for requests sent through the Batch API, at half the price.
        """
        total = (
            usage.prompt_tokens * self.input_per_million
            + usage.completion_tokens * self.output_per_million
        )
        dollars = total / 1e6
        if batch:
            dollars /= 2
        return dollars


@dataclass(frozen=True, slots=True)
class Estimate:
    """The requests and tokens needed to decompose some passages.

    Attributes:
        cached: Passages that need no request, because they are cached or repeat others.
        usage: Requests and tokens of the others.
        cost: Cost of the requests; None without prices.
        batch_cost: Cost through the Batch API.
    """

    passages: int
    cached: int
    usage: Usage
    cost: float | None = None
    batch_cost: float | None = None

    def __str__(self) -> str:
        lines = [
            f"{self.passages:,} passages, {self.cached:,} of them need no request",
            f"about {self.usage.prompt_tokens:,} prompt tokens",
            f"about {self.usage.completion_tokens:,} tokens of answers",
        ]
        if self.cost is not None and self.batch_cost is not None:
            digits = 2 if self.cost >= 10 else 4
            lines.append(
                f"about {self.cost:,.{digits}f}; through the Batch API "
                f"{self.batch_cost:,.{digits}f}"
            )
        return "\n".join(lines)


def estimate(
    passages: Iterable[Unit],
    prices: Prices | None = None,
    *,
    model: str = "",
    prompt: str | None = None,
    cache: PropositionCache | None = None,
) -> Estimate:
    """Estimate the cost of decomposing passages by prompting. Nothing is sent.

    4.5 characters of ASCII, or one other character, count as a token. Answers take 1.35 times the
    tokens of their passage.

    Args:
        passages: Passages, as `split_passages` returns them.
        prices: The model's prices.
        model: The model's name, which identifies its results in the cache.
        prompt: Instructions instead of Figure 8.
        cache: Passages in this cache are left out. Equal passages are counted once.
    """
    name = versioned_name(model, prompt)
    total = requests = prompt_tokens = passage_tokens = 0
    seen: set[bytes] = set()
    remaining = iter(passages)
    while chunk := list(islice(remaining, _CHUNK)):
        total += len(chunk)
        outputs = cache.get(name, chunk) if cache else [None] * len(chunk)
        for passage, texts in zip(chunk, outputs, strict=True):
            key = passage_key(name, passage)
            if texts is None and key not in seen and passage.text.strip():
                seen.add(key)
                requests += 1
                prompt_tokens += rough_tokens(prompt_for(passage, prompt)) + _FRAME
                passage_tokens += rough_tokens(passage.search_text)
    usage = Usage(requests, prompt_tokens, round(ANSWER_RATIO * passage_tokens))
    costs = (prices.cost(usage), prices.cost(usage, batch=True)) if prices else (None, None)
    return Estimate(total, total - requests, usage, *costs)


def rough_tokens(text: str) -> int:
    """Return the approximate number of tokens of a text."""
    plain = len(text.encode("ascii", "ignore"))
    return round(plain / _CHARACTERS_PER_TOKEN) + len(text) - plain
