"""`factoid train-propositionizer`: a propositionizer of one's own, from documents or from pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.commands.options import (
    add_cache,
    add_quiet,
    add_splitting,
    forget_failures,
    make_propositionizer,
    min_words,
    print_json,
    show_progress,
)
from factoid.encode import SentenceTransformerEncoder
from factoid.errors import InvalidInputError
from factoid.files import read_documents
from factoid.propositions.caching.choose import caching
from factoid.propositions.score import BERTScore, EncoderSimilarity, Similarity, TokenF1
from factoid.propositions.training.seeds import Seeds, make_seeds, read_pairs, write_pairs
from factoid.propositions.training.train import TrainingSettings, train_propositionizer
from factoid.split import split_passages

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from factoid.propositions.training.train import TrainingRecord

SUMMARY = "fine-tune a model that writes propositions, on pairs that another one wrote"

SIMILARITIES: dict[str, Callable[[], Similarity]] = {
    "tokens": TokenF1,
    "encoder": lambda: EncoderSimilarity(SentenceTransformerEncoder()),
    "bertscore": BERTScore,
}

_PAIRS = "pairs.jsonl"
_DEFAULTS = TrainingSettings()
_NUMBERS = {
    "epochs": "passes over the pairs",
    "batch-size": "pairs in one step",
    "device-batch-size": "pairs that a device holds at once: less takes less memory, the result is the same",
    "learning-rate": "at the start; it falls linearly to 0",
    "weight-decay": "of AdamW",
    "max-tokens": "pairs with a longer input or output are left out",
    "checkpoint-steps": "steps between two checkpoints",
    "seed": "of the order of pairs and of dropout",
}


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="documents to make pairs from: text, Markdown or JSONL files, and folders of them",
    )
    parser.add_argument("--pairs", metavar="FILE", help="pairs to train on instead, as a run before has written them")
    parser.add_argument("--output", required=True, metavar="DIR", help="where the model, its card and the pairs go")
    parser.add_argument(
        "--passages", type=int, metavar="N", help="only this many passages, chosen evenly (default: all)"
    )
    parser.add_argument(
        "--min-coverage",
        type=float,
        default=0.8,
        metavar="SHARE",
        help="drop passages of whose sentences fewer are covered (default: 0.8)",
    )
    parser.add_argument(
        "--max-unsupported",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="drop passages of whose propositions more are not supported by the passage (default: 0)",
    )
    parser.add_argument("--pairs-only", action="store_true", help="write the pairs and stop before the training")
    add_splitting(parser)
    add_cache(parser, "keep what the propositionizer wrote in this file (default: propositions.sqlite in DIR)")
    _add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print the record of the training as JSON")
    add_quiet(parser)


def run(args: Namespace) -> None:
    """Run the command. Killed and run again, it goes on where it was."""
    if bool(args.paths) == bool(args.pairs):
        message = "expected documents to make pairs from, or --pairs FILE, and not both"
        raise InvalidInputError(message)
    if args.passages is not None and args.passages < 1:
        message = f"--passages must be at least 1, got {args.passages}"
        raise InvalidInputError(message)
    numbers = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in _NUMBERS}
    settings = TrainingSettings(model=args.base_model, revision=args.base_revision, **numbers)
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    seeds = Seeds(read_pairs(args.pairs)) if args.pairs else _make_seeds(args, output)
    if not args.pairs:
        write_pairs(output / _PAIRS, seeds.pairs)
        if not args.json:
            print(f"{seeds}: {output / _PAIRS}", flush=True)
    if args.pairs_only:
        return
    record = train_propositionizer(
        seeds.pairs,
        output,
        settings=settings,
        held_out=args.held_out,
        similarity=SIMILARITIES[args.similarity](),
        dropped=seeds.dropped,
        use_cpu=args.cpu,
        show_progress=show_progress(args),
    )
    if args.json:
        print_json({"output": str(output), **asdict(record)})
    else:
        _print(output, record)


def _add_settings(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--base-model",
        default=_DEFAULTS.model,
        metavar="NAME",
        help=f"the seq2seq model to start from, name or folder (default: {_DEFAULTS.model})",
    )
    parser.add_argument("--base-revision", metavar="NAME", help="branch, tag or commit of that model on the hub")
    for name, meaning in _NUMBERS.items():
        value = getattr(_DEFAULTS, name.replace("-", "_"))
        parser.add_argument(
            f"--{name}", type=type(value), default=value, metavar="N", help=f"{meaning} (default: {value:g})"
        )
    parser.add_argument(
        "--held-out",
        type=int,
        default=1000,
        metavar="N",
        help="pairs to evaluate on, of documents that are not trained on; a tenth of all at most (default: 1000)",
    )
    parser.add_argument(
        "--similarity",
        choices=SIMILARITIES,
        default="tokens",
        help="what F1 is measured with: common words (the default), all-MiniLM-L6-v2, or roberta-large as in the paper",
    )
    parser.add_argument("--cpu", action="store_true", help="leave GPUs alone")


def _make_seeds(args: Namespace, output: Path) -> Seeds:
    passages = [
        passage
        for document in read_documents(args.paths)
        for passage in split_passages(document, words=args.words, min_words=min_words(args))
    ]
    if args.passages is not None:
        # Ids come from content: the same passages are chosen in every run, and most of them from a corpus that grows.
        passages.sort(key=lambda passage: hashlib.sha256(passage.id.encode()).digest())
        passages = passages[: args.passages]
    cache = args.cache or output / "propositions.sqlite"
    if args.retry_failed:
        forget_failures(str(cache))
    with caching(make_propositionizer(args), cache, show_progress=show_progress(args)) as propositionizer:
        return make_seeds(
            passages, propositionizer, min_coverage=args.min_coverage, max_unsupported=args.max_unsupported
        )


def _print(output: Path, record: TrainingRecord) -> None:
    print(f"trained on {record.training_pairs:,} pairs in {record.steps:,} steps, loss {record.loss[-1][1]:.3f}")
    if record.score is not None:
        score = record.score
        print(
            f"F1 {score.f1:.3f} (precision {score.precision:.3f}, recall {score.recall:.3f}; {record.similarity}) on "
            f"{record.held_out_pairs:,} pairs of other documents"
        )
    print(f"{output} holds the model: FlanT5Propositionizer({str(output)!r})")
