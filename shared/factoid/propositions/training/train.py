"""Train your own propositionizer (Dense X Retrieval, §3 and Appendix B): settings and record."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.atomic import write_file
from factoid.propositions.flan_t5 import FlanT5Propositionizer
from factoid.propositions.protocol import Propositionizer
from factoid.propositions.score import PropositionF1, Similarity, TokenF1, corpus_f1
from factoid.propositions.training.seeds import SeedPair
from factoid.units import content_id

RECORD = "training.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Settings to fine-tune a model. The defaults are the paper's (Appendix B), as far as it states them.

    Raises:
        InvalidInputError: A number is out of range.
    """

    model: str = "google/flan-t5-large"  # the seq2seq model to start from: name on the Hugging Face hub, or a folder
    revision: str | None = None  # branch, tag or commit of a model on the hub
    epochs: int = 3  # passes over the pairs
    batch_size: int = 64  # pairs in one step of AdamW
    device_batch_size: int = 8  # pairs that a device holds at once; gradients of a step add up
    learning_rate: float = 1e-4  # at the start; it falls linearly to 0
    weight_decay: float = 1e-4
    max_tokens: int = 512  # pairs with a longer input or output are left out
    checkpoint_steps: int = 200  # between checkpoints, of which the last two are kept
    seed: int = 0  # for the order of pairs and dropout

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "device_batch_size", "max_tokens", "checkpoint_steps"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"expected {name} of at least 1, got {getattr(self, name)}")
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            numbers = f"{self.learning_rate}, {self.weight_decay}"
            raise InvalidInputError(f"expected learning_rate > 0 and weight_decay >= 0, got {numbers}")

    def comparable(self) -> dict[str, Any]:
        """Return the settings that two runs of one training must share: all except those that only affect memory and disk."""
        return {k: v for k, v in asdict(self).items() if k not in ("device_batch_size", "checkpoint_steps")}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecord:
    """The result of a training. `training.json` in the model's folder holds the same."""

    settings: TrainingSettings
    pairs: str  # id of the contents of all pairs and of their split
    training_pairs: int
    held_out_pairs: int  # from other documents
    dropped: Mapping[str, int]  # passages and pairs left out, counted by reason
    propositionizers: Sequence[str]  # those that wrote the pairs
    steps: int
    loss: Sequence[tuple[int, float]]  # steps, and the mean training loss since the entry before
    held_out_loss: Sequence[float]  # after each epoch
    similarity: str = ""  # used to measure `score`; empty before that
    score: PropositionF1 | None = None  # proposition-set F1 on the held-out pairs (Appendix B)
    factoid: str = ""  # version


def train_propositionizer(
    pairs: Sequence[SeedPair],
    output: str | os.PathLike[str],
    *,
    settings: TrainingSettings | None = None,
    held_out: int = 1000,
    similarity: Similarity | None = None,
    dropped: Mapping[str, int] | None = None,
    use_cpu: bool = False,
    show_progress: bool = False,
) -> TrainingRecord:
    """Fine-tune a seq2seq model on pairs. `FlanT5Propositionizer(output)` loads the result.

    The model learns to answer `passage_input` with the JSON list of propositions. Ctrl-C and SIGTERM end the run with a
    checkpoint after the current step. After that or a kill, the same call resumes from the last checkpoint; once the training is
    finished, it returns the record. Checkpoints are deleted when the model is written.

    Args:
        pairs: Pairs, as `make_seeds` or `read_pairs` return them.
        output: Folder for the model, its tokenizer and training.json.
        settings: Settings; None for the paper's.
        held_out: Approximate number of pairs to evaluate on, from documents not trained on: at most a tenth of all.
        similarity: Similarity used by proposition-set F1; None for `TokenF1`.
        dropped: Counts to report beside those of pairs left out here, as in `Seeds`.
        use_cpu: Do not use GPUs. Otherwise CUDA is used if available, in bfloat16 if supported.
        show_progress: Show progress bars.

    Raises:
        InvalidInputError: There are too few pairs, or the folder holds a training with other pairs or settings.
        PropositionizerError: The model cannot be loaded, or the device has too little memory.
        MissingDependencyError: torch, transformers or accelerate is not installed.
        KeyboardInterrupt: Ctrl-C or SIGTERM ended the run.
    """
    for module in ("torch", "transformers", "accelerate"):
        require(module, extra="train")
    from factoid.propositions.training.fine_tune import fine_tune, quiet  # its callbacks are classes of transformers

    settings, similarity = settings or TrainingSettings(), similarity or TokenF1()
    folder = Path(output)
    training, evaluation = split_held_out(pairs, held_out)
    identity = content_id([[_content(pair) for pair in side] for side in (training, evaluation)])
    record = read_record(folder)
    if record is None:
        options: dict[str, Any] = {"use_cpu": use_cpu, "show_progress": show_progress}
        record = fine_tune(folder, training, evaluation, settings, identity=identity, dropped=dropped or {}, **options)
        _write_record(folder, record)
    elif settings.comparable() != record.settings.comparable() or record.pairs != identity:
        raise InvalidInputError(f"{folder} holds a model that was trained with other pairs or settings: choose another")
    name = str(getattr(similarity, "name", type(similarity).__name__))
    if evaluation and record.similarity != name:
        device = "cpu" if use_cpu else None
        model = FlanT5Propositionizer(folder, engine="transformers", device=device, show_progress=show_progress)
        with quiet():
            record = replace(record, score=evaluate_propositionizer(model, evaluation, similarity), similarity=name)
        _write_record(folder, record)
    return record


def split_held_out(pairs: Sequence[SeedPair], count: int) -> tuple[list[SeedPair], list[SeedPair]]:
    """Return pairs for training and about `count` from other documents for evaluation, at most a tenth of all.

    Raises:
        InvalidInputError: There are no pairs for training, or all come from one document and some should be held out.
    """
    sizes = Counter(pair.passage.document_id for pair in pairs)
    if not sizes or (count > 0 and len(sizes) == 1):
        problem = f"expected pairs of two documents at least, one of them to be held out, got those of {len(sizes)}"
        raise InvalidInputError(f"{problem}: give more documents, or hold out 0")
    count = min(count, max(len(pairs) // 10, 1))
    held_out: set[str] = set()
    for document_id in sorted(sizes, key=lambda document_id: hashlib.sha256(document_id.encode()).digest())[:-1]:
        if count > 0:
            held_out.add(document_id)
            count -= sizes[document_id]
    training = [pair for pair in pairs if pair.passage.document_id not in held_out]
    return training, [pair for pair in pairs if pair.passage.document_id in held_out]


def _content(pair: SeedPair) -> tuple[object, ...]:
    unit = pair.passage
    return unit.document_id, unit.title, unit.section, unit.text, pair.propositions


def evaluate_propositionizer(
    propositionizer: Propositionizer, pairs: Sequence[SeedPair], similarity: Similarity
) -> PropositionF1:
    """Return how close a propositionizer's output is to the propositions of pairs: the mean F1 of Appendix B."""
    outputs = propositionizer.propositionize([pair.passage for pair in pairs])
    return corpus_f1(outputs, [pair.propositions for pair in pairs], similarity)


def _write_record(folder: Path, record: TrainingRecord) -> None:
    values = {**asdict(record), "factoid": version("factoid")}
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    write_file(folder / RECORD, lambda file: file.write(text.encode()))  # with it the folder is complete


def read_record(folder: Path) -> TrainingRecord | None:
    """Return the record of a finished training, None if the folder has none; raise `UnreadableFileError` if it is damaged."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        values["settings"] = TrainingSettings(**values["settings"])
        values["loss"] = [(int(step), float(loss)) for step, loss in values["loss"]]
        values["score"] = values["score"] and PropositionF1(**values["score"])
        return TrainingRecord(**values)
    except (OSError, ValueError, KeyError, TypeError, InvalidInputError) as error:
        raise UnreadableFileError(f"{path} is not a record of a training: {error}") from error
