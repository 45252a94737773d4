"""`factoid batch`: a corpus through OpenAI's Batch API, into a cache from which it is then indexed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from factoid.commands.options import add_paths, add_quiet, make_prompted, min_words, print_json, show_progress
from factoid.errors import InvalidInputError
from factoid.files import read_documents
from factoid.propositions.prompting.batches import PropositionBatch
from factoid.split import split_passages
from factoid.terminal import count

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from factoid.propositions.prompting.batch_files import BatchReport
    from factoid.propositions.prompting.batch_state import Batch

SUMMARY = "decompose files through OpenAI's Batch API: submit, then collect into a cache, then index with that cache"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "action",
        choices=["submit", "status", "collect", "cancel"],
        help="send the passages of files that are neither in the cache nor on their way; tell how the batches are; put "
        "what has come into the cache; stop all batches",
    )
    add_paths(parser, nargs="*")
    parser.add_argument("--model", required=True, metavar="NAME", help="the chat model")
    parser.add_argument(
        "--cache", required=True, metavar="FILE", help="where results go; what is on its way is kept in FILE.batches"
    )
    parser.add_argument("--wait", action="store_true", help="with collect: go on until all batches have ended")
    parser.add_argument("--words", type=int, default=100, metavar="N", help="most words of a passage (default: 100)")
    parser.add_argument("--base-url", metavar="URL", help="a server with OpenAI's Batch API")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_quiet(parser)
    parser.set_defaults(max_concurrency=1, requests_per_minute=None, tokens_per_minute=None)


def run(args: Namespace) -> None:
    """Run the command."""
    if bool(args.paths) != (args.action == "submit"):
        message = f"factoid batch {args.action} takes {'files' if args.action == 'submit' else 'no files'}"
        raise InvalidInputError(message)
    batch = PropositionBatch(make_prompted(args), args.cache, show_progress=show_progress(args))
    if args.action != "submit" and not batch.state.exists() and not batch.cache.path.exists():
        message = f"there is no {args.cache}, and so no batch: name the --cache of factoid batch submit"
        raise InvalidInputError(message)
    if args.action == "submit" or batch.cache.path.exists():
        batch.cache.get(batch.propositionizer.name, [])  # opened now: another file is refused before anything is done
    if args.action == "collect":
        _print_report(args, batch.wait() if args.wait else batch.collect(), batch.batches())
        return
    if args.action == "submit":
        passages = [
            passage
            for document in read_documents(args.paths)
            for passage in split_passages(document, words=args.words, min_words=min_words(args))
        ]
        _print_batches(args, batch.submit(passages))
    else:
        _print_batches(args, batch.cancel() if args.action == "cancel" else batch.poll())


def _print_batches(args: Namespace, batches: Sequence[Batch]) -> None:
    if args.json:
        print_json([asdict(batch) for batch in batches])
        return
    for batch in batches:
        error = f": {batch.error}" if batch.error else ""
        print(f"{batch.batch_id}  {batch.status}  {batch.completed:,} of {count(batch.requests, 'request')}{error}")
    if not batches:
        print("no batches: everything is in the cache, or nothing was submitted")


def _print_report(args: Namespace, report: BatchReport, batches: Sequence[Batch]) -> None:
    if args.json:
        print_json({**asdict(report), "batches": [asdict(batch) for batch in batches]})
        return
    print(report)
    print(f"{report.usage.prompt_tokens:,} prompt tokens, {report.usage.completion_tokens:,} tokens of answers")
    if batches:
        print(f"not ended yet: {len(batches)}. Collect again later, or with --wait")
    if report.returned:
        print("what came back without an answer is sent again by: factoid batch submit")
