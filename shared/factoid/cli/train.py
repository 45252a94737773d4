"""`factoid train-propositionizer` and `factoid train-agrame`: train your own models."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from factoid.cli import options as opts
from factoid.cli.options import argument, option
from factoid.errors import InvalidInputError

_TEACHER_RATE = 2e-5  # learning rate of a cross-encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How the model is trained: the options of `TrainingSettings`, as a group."""

    base_model: Annotated[str, option("NAME", "Model to start from, by name or folder.")] = (
        "google/flan-t5-large"
    )
    epochs: Annotated[int, option("N", "Passes over the pairs.")] = 3
    batch_size: Annotated[int, option("N", "Pairs per step.")] = 64
    device_batch_size: Annotated[
        int, option("N", "Pairs on a device at once; fewer take less memory, with the same result.")
    ] = 8
    learning_rate: Annotated[
        float, option("N", "Initial learning rate; it falls linearly to 0.")
    ] = 1e-4


def train_propositionizer(
    output: Annotated[str, option("DIR", "Folder for the model, its record and the pairs.")],
    paths: Annotated[
        list[str] | None, argument("PATH", "Documents to make pairs from: files and folders.")
    ] = None,
    pairs: Annotated[
        str | None, option("FILE", "Train on these pairs instead, such as an earlier run's.")
    ] = None,
    passages: Annotated[
        int | None, option("N", "Use only N passages, chosen evenly.", default="all", min=1)
    ] = None,
    pairs_only: Annotated[
        bool, option(None, "Write the pairs and stop before training.", "--pairs-only")
    ] = False,
    *,
    splitting: opts.Splitting,
    cache: opts.CacheFile = None,
    retry_failed: opts.RetryFailed = False,
    training: Training,
    held_out: Annotated[
        int, option("N", "Pairs to evaluate on, from other documents; at most a tenth of all.")
    ] = 1000,
    cpu: Annotated[bool, option(None, "Do not use GPUs.", "--cpu")] = False,
    reading: opts.Reading,
    printing: opts.Output,
) -> None:
    """Fine-tune a model to write propositions, on pairs from another propositionizer.

    A killed run resumes when the same command is run again.
    """
    from factoid.propositions import PropositionCache
    from factoid.propositions.cached_propositionizer import with_cache
    from factoid.training.propositionizers.seeds import Seeds, make_seeds, read_pairs, write_pairs
    from factoid.training.propositionizers.settings import TrainingSettings
    from factoid.training.propositionizers.train import train_propositionizer as train

    if bool(paths) == bool(pairs):
        raise InvalidInputError(
            "expected documents to make pairs from, or --pairs FILE, and not both"
        )
    numbers = asdict(training)
    settings = TrainingSettings(model=numbers.pop("base_model"), **numbers)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    show = printing.progress
    if pairs:
        seeds = Seeds(read_pairs(pairs))
    else:
        store = cache or folder / "propositions.sqlite"
        if retry_failed:
            PropositionCache(store).forget(failures=True)
        source = with_cache(opts.make_propositionizer(splitting), store, progress=show)
        units = list(opts.read_passages(paths or [], splitting.words, reading, progress=show))
        if passages is not None:
            # Ids come from content: every run chooses the same passages, and mostly the same when
            # the corpus grows.
            units.sort(key=lambda unit: hashlib.sha256(unit.id.encode()).digest())
            units = units[:passages]
        seeds = make_seeds(units, source)
        write_pairs(folder / "pairs.jsonl", seeds.pairs)
        if not printing.as_json:
            print(f"{seeds}: {folder / 'pairs.jsonl'}", flush=True)
    if pairs_only:
        return
    options: dict[str, Any] = {
        "held_out": held_out,
        "dropped": seeds.dropped,
        "use_cpu": cpu,
        "progress": show,
    }
    record = train(seeds.pairs, folder, settings=settings, **options)
    _print(printing, folder, record, f"{record['training_pairs']:,} pairs", "FlanT5Propositionizer")


def _print(
    printing: opts.Output, folder: Path, record: dict[str, Any], data: str, loader: str
) -> None:
    losses = []
    for entry in record["log"]:
        if "loss" in entry:
            losses.append(entry["loss"])
    lines = [f"trained on {data} in {record['steps']:,} steps, loss {losses[-1]:.3f}"]
    if score := record.get("score"):
        lines.append(
            f"F1 {score['f1']:.3f} on {record['held_out_pairs']:,} pairs of other documents"
        )
    lines.append(f"{folder} holds the model: {loader}({str(folder)!r})")
    printing.print({"output": str(folder), **record}, "\n".join(lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """How a late-interaction model is trained: the options of `RankerSettings`, as a group."""

    model: Annotated[
        str, option("NAME", "Late-interaction model or encoder to start from, by name or folder.")
    ]
    projection: Annotated[
        int | None,
        option("N", "Project a plain encoder's token vectors to N components.", default="none"),
    ] = None
    ways: Annotated[
        int | None, option("N", "Passages per query.", default="as many as all have")
    ] = None
    sentence_weight: Annotated[
        float,
        option(
            "N", "Weight of the loss over sentences; 0 for passages alone, without a second marker."
        ),
    ] = 1.0
    second_marker: Annotated[
        bool,
        option(
            None,
            "Mark the query of the loss over sentences with a marker of its own.",
            "--second-marker/--one-marker",
        ),
    ] = True
    epochs: Annotated[int, option("N", "Passes over the examples.")] = 1
    batch_size: Annotated[int, option("N", "Queries per step.")] = 32
    device_batch_size: Annotated[
        int, option("N", "Queries on a device at once; fewer take less memory.")
    ] = 8
    learning_rate: Annotated[float, option("N", "Peak learning rate.")] = 1e-5


def train_agrame(
    examples: Annotated[
        str,
        argument(
            "FILE",
            "JSON lines with query, passages, scores and answers; or ColBERTv2's, with --queries "
            "and --collection.",
        ),
    ],
    output: Annotated[
        str, option("DIR", "Folder for the model, the teacher of sentences and its scores.")
    ],
    *,
    queries: Annotated[
        Path | None, option("FILE", "ColBERTv2's format: lines of an id, a tab and a query.")
    ] = None,
    collection: Annotated[
        Path | None, option("FILE", "ColBERTv2's format: lines of an id, a tab and a passage.")
    ] = None,
    teacher: Annotated[
        str | None, option("NAME", "Cross-encoder that scores sentences, by name or folder.")
    ] = None,
    teacher_model: Annotated[
        str | None,
        option("NAME", "Train the cross-encoder from this model, on the answers in the examples."),
    ] = None,
    teacher_examples: Annotated[
        Path | None,
        option(
            "FILE", "Train the cross-encoder on these JSON lines instead, for data without answers."
        ),
    ] = None,
    fitting: Fitting,
    cpu: Annotated[bool, option(None, "Do not use GPUs.", "--cpu")] = False,
    printing: opts.Output,
) -> None:
    """Train a late-interaction model to rank sentences (AGRaME).

    It ranks them by the token vectors of whole passages. A killed run resumes when the same command
    is run again.
    """
    from factoid.training.rankers.examples import read_colbert_examples, read_examples
    from factoid.training.rankers.settings import FitSettings, RankerSettings
    from factoid.training.rankers.train import train_ranker

    if bool(queries) != bool(collection):
        raise InvalidInputError(
            "expected --queries and --collection together, for ColBERTv2's format, or neither"
        )
    if teacher and (teacher_model or teacher_examples):
        raise InvalidInputError("expected --teacher, or --teacher-model to train one, and not both")
    if teacher_examples and not teacher_model:
        raise InvalidInputError("expected --teacher-model with --teacher-examples")
    settings = RankerSettings(**asdict(fitting))
    folder = Path(output)
    show = printing.progress
    if queries and collection:
        read = read_colbert_examples(examples, queries, collection, ways=settings.ways)
    else:
        read = read_examples(examples)
    if settings.sentence_weight and (teacher or teacher_model):
        from factoid.training.rankers.teacher import score_sentences, train_teacher

        if teacher_model:
            teacher = str(folder / "teacher")
            answered = read_examples(teacher_examples) if teacher_examples else read
            numbers = {}
            for field in fields(FitSettings):
                numbers[field.name] = getattr(settings, field.name)
            teaching = FitSettings(
                **{**numbers, "model": teacher_model, "learning_rate": _TEACHER_RATE}
            )
            train_teacher(answered, teacher, settings=teaching, use_cpu=cpu, progress=show)
        scores = folder / "sentence_scores.jsonl"
        read = score_sentences(
            read, teacher or "", scores, ways=settings.ways, use_cpu=cpu, progress=show
        )
    record = train_ranker(read, folder, settings=settings, use_cpu=cpu, progress=show)
    data = (
        f"{record['training_examples']:,} queries with {record['ways']} passages "
        f"({record['dropped']:,} have fewer)"
    )
    _print(printing, folder, record, data, "AnyGranularityRanker")
