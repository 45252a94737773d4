"""`factoid search`: ask a store questions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, Literal

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import StoreError
from factoid.terminal import show_hit, wants_color


def search(
    store: opts.StorePath,
    question: Annotated[
        str,
        argument(
            "QUESTION", "What to search for; - reads questions from standard input, one a line."
        ),
    ],
    k: Annotated[int, option("N", "Number of passages.", "-k")] = 5,
    granularity: Annotated[
        Literal["passage", "sentence", "proposition", "mixed"] | None,
        option(
            None,
            "Units to compare with the question; mixed for all.",
            default="the finest in the store",
        ),
    ] = None,
    lexical: Annotated[
        float | None,
        option(
            "SHARE",
            "Share of the question's words in the score, from 0 to 1 (words alone).",
            default="0.33",
        ),
    ] = None,
    explain: Annotated[bool, option(None, "Show the parts of each score.")] = False,
    condition: opts.Filter = None,
    min_score: Annotated[float | None, option("S", "Only hits with at least this score.")] = None,
    mmr: Annotated[
        float | None,
        option(
            "WEIGHT",
            "Diversify the hits: weight of the question, from 0 (only diversity counts) to 1.",
        ),
    ] = None,
    expand: Annotated[int, option("N", "Show N sentences before and after each fact.")] = 0,
    rerank: Annotated[
        str | None,
        option(
            "MODEL",
            "Rank the best passages again with a late-interaction model, by name or folder; or "
            "with the store's own encoder, token by token: tokens.",
        ),
    ] = None,
    words: Annotated[
        int | None,
        option("N", "Print the first N words of the best units, as context for a reader model."),
    ] = None,
    encoder: opts.EncoderName = None,
    as_json: opts.AsJson = False,
) -> None:
    """Find the passages that answer a question, and the facts in them."""
    from factoid.files.readers import STDIN
    from factoid.packing import pack_context

    options: dict[str, Any] = {
        "granularity": granularity,
        "filter": opts.read_object("--filter", condition),
        "min_score": min_score,
        "mmr": mmr,
        "lexical": lexical,
    }
    if rerank == "tokens":
        options["rerank"] = rerank
    elif rerank is not None:
        from factoid.late_interaction import AnyGranularityRanker

        options["rerank"] = AnyGranularityRanker(rerank, cache=store)
    color = wants_color(sys.stdout)
    with opts.open_store(store, encoder=opts.make_encoder(encoder)) as opened:
        if not opened.counts():
            raise StoreError(f"the store at {store} holds nothing")
        questions: Iterable[str] = [question]
        if question == STDIN:
            questions = _read_questions()
        for text in questions:
            opts.check_question(text)
            context = None
            hits = opened.search(text, k, expand=expand, **options)
            if words is not None:
                # Every unit has at least one word, so this many fill the budget.
                units = opened.search(text, max(words, 1), parents="unit", **options)
                context = pack_context(units, words=words)
            if as_json:
                result = {"question": text, "hits": list(map(asdict, hits))}
                if context is not None:
                    result["context"] = context
                opts.print_json(result)
                continue
            if question == STDIN and not sys.stdin.isatty():
                print(f"? {text}")  # a terminal already shows it
            if not hits:
                print(
                    "factoid: nothing found: no passage passes the given options", file=sys.stderr
                )
            elif context is not None:
                print(context)
            else:
                shown = []
                for rank, hit in enumerate(hits, start=1):
                    shown.append(show_hit(rank, hit, color=color, explain=explain))
                print("\n\n".join(shown), flush=True)


def _read_questions() -> Iterator[str]:
    """Yield the lines of standard input that are not blank; a terminal shows a prompt for each."""
    prompt = "? " if sys.stdin.isatty() else ""
    with suppress(EOFError):
        while True:
            if line := input(prompt).strip():
                yield line
