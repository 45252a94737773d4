"""`factoid train-propositionizer`: a propositionizer of one's own, from documents or from pairs."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.cli.propositionizers import forget_failures, make_propositionizer
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from factoid.propositions.score import Similarity
    from factoid.propositions.training.train import TrainingRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How the model is trained: a group of options, those of `TrainingSettings`."""

    base_model: Annotated[str, option("NAME", "The seq2seq model to start from, name or folder.")] = (
        "google/flan-t5-large"
    )
    base_revision: Annotated[str | None, option("NAME", "Branch, tag or commit of that model.")] = None
    epochs: Annotated[int, option("N", "Passes over the pairs.")] = 3
    batch_size: Annotated[int, option("N", "Pairs in one step.")] = 64
    device_batch_size: Annotated[
        int, option("N", "Pairs that a device holds at once: less takes less memory, with the same result.")
    ] = 8
    learning_rate: Annotated[float, option("N", "At the start; it falls linearly to 0.")] = 1e-4
    weight_decay: Annotated[float, option("N", "Of AdamW.")] = 1e-4
    max_tokens: Annotated[int, option("N", "Pairs with a longer input or output are left out.")] = 512
    checkpoint_steps: Annotated[int, option("N", "Steps between two checkpoints.")] = 200
    seed: Annotated[int, option("N", "Of the order of pairs and of dropout.")] = 0


@opts.grouped
@opts.grouped
def train_propositionizer(
    output: Annotated[str, option("DIR", "Where the model, its card and the pairs go.")],
    paths: Annotated[list[str] | None, argument("PATH", "Documents to make pairs from: files and folders.")] = None,
    pairs: Annotated[str | None, option("FILE", "Pairs to train on instead, as a run before has written them.")] = None,
    passages: Annotated[int | None, option("N", "Only this many passages, chosen evenly.", default="all")] = None,
    min_coverage: Annotated[float, option("SHARE", "Drop passages of whose sentences fewer are covered.")] = 0.8,
    max_unsupported: Annotated[
        float, option("SHARE", "Drop passages of whose propositions more are not supported by the passage.")
    ] = 0.0,
    pairs_only: Annotated[bool, option(None, "Write the pairs and stop before the training.", "--pairs-only")] = False,
    *,
    splitting: opts.Splitting,
    cache: opts.CacheFile = None,
    retry_failed: opts.RetryFailed = False,
    training: Training,
    held_out: Annotated[
        int, option("N", "Pairs to evaluate on, of documents that are not trained on; a tenth of all at most.")
    ] = 1000,
    similarity: Annotated[
        Literal["tokens", "encoder", "bertscore"],
        option(None, "What F1 is measured with: common words, all-MiniLM-L6-v2, or roberta-large as in the paper."),
    ] = "tokens",
    cpu: Annotated[bool, option(None, "Leave GPUs alone.", "--cpu")] = False,
    printing: opts.Output,
) -> None:
    """Fine-tune a model that writes propositions, on pairs that another one wrote.

    Killed and run again, it goes on where it was.
    """
    from factoid.propositions.cached_propositionizer import with_cache
    from factoid.propositions.training.seeds import Seeds, make_seeds, read_pairs, write_pairs
    from factoid.propositions.training.train import TrainingSettings
    from factoid.propositions.training.train import train_propositionizer as train

    if bool(paths) == bool(pairs):
        message = "expected documents to make pairs from, or --pairs FILE, and not both"
        raise InvalidInputError(message)
    if passages is not None and passages < 1:
        message = f"--passages must be at least 1, got {passages}"
        raise InvalidInputError(message)
    numbers = asdict(training)
    settings = TrainingSettings(model=numbers.pop("base_model"), revision=numbers.pop("base_revision"), **numbers)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    show = printing.show_progress
    if pairs:
        seeds = Seeds(read_pairs(pairs))
    else:
        store = cache or folder / "propositions.sqlite"
        if retry_failed:
            forget_failures(store)
        source = with_cache(make_propositionizer(splitting), store, show_progress=show)
        units = list(opts.read_passages(paths or [], splitting.words, show_progress=show))
        if passages is not None:
            # Ids come from content: the same are chosen in every run, and most of them from a corpus that grows.
            units.sort(key=lambda unit: hashlib.sha256(unit.id.encode()).digest())
            units = units[:passages]
        seeds = make_seeds(units, source, min_coverage=min_coverage, max_unsupported=max_unsupported)
        write_pairs(folder / "pairs.jsonl", seeds.pairs)
        if not printing.as_json:
            print(f"{seeds}: {folder / 'pairs.jsonl'}", flush=True)
    if pairs_only:
        return
    record = train(
        seeds.pairs,
        folder,
        settings=settings,
        held_out=held_out,
        similarity=_similarity(similarity),
        dropped=seeds.dropped,
        use_cpu=cpu,
        show_progress=show,
    )
    printing.print({"output": str(folder), **asdict(record)}, _described(folder, record))


def _described(folder: Path, record: TrainingRecord) -> str:
    lines = [f"trained on {record.training_pairs:,} pairs in {record.steps:,} steps, loss {record.loss[-1][1]:.3f}"]
    if (score := record.score) is not None:
        lines.append(
            f"F1 {score.f1:.3f} (precision {score.precision:.3f}, recall {score.recall:.3f}; {record.similarity}) on "
            f"{record.held_out_pairs:,} pairs of other documents"
        )
    return "\n".join([*lines, f"{folder} holds the model: FlanT5Propositionizer({str(folder)!r})"])


def _similarity(name: str) -> Similarity:
    from factoid.propositions.score import BERTScore, EncoderSimilarity, TokenF1

    if name == "encoder":
        return EncoderSimilarity(opts.make_encoder(None))
    return TokenF1() if name == "tokens" else BERTScore()
