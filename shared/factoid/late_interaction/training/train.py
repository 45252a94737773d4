"""Train a late-interaction model for any granularity (AGRaME, §3.3): settings, record and entry point."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.atomic import write_file
from factoid.late_interaction.training.examples import TrainingExample
from factoid.units import content_id

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

RECORD = "training.json"
Measure = Callable[["MultiVectorEncoder"], Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings to train a teacher of sentences or a late-interaction model. The paper gives no numbers; these suit small data.

    Raises:
        InvalidInputError: A number is out of range.
    """

    model: str  # to start from: name on the Hugging Face hub, or folder
    epochs: int = 1  # passes over the examples
    batch_size: int = 32  # queries, or sentences of a teacher, in one step of AdamW
    device_batch_size: int = 8  # of these on a device at once; gradients of a step add up
    learning_rate: float = 1e-5  # at its peak
    warmup: float = 0.1  # share of the steps in which the learning rate rises to its peak; then it falls linearly to 0
    weight_decay: float = 0.01
    max_tokens: int | None = None  # of a passage in training; None for the model's limit
    checkpoint_steps: int = 200  # between checkpoints, of which the last two are kept, and between measurements
    seed: int = 0  # for new weights, the order of examples and dropout

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "device_batch_size", "checkpoint_steps", "max_tokens", "projection"):
            value = getattr(self, name, None)
            if value is not None and value < 1:
                raise InvalidInputError(f"expected {name} of at least 1, got {value}")
        batch, device_batch = self.batch_size, self.device_batch_size
        if batch % min(batch, device_batch):
            raise InvalidInputError(
                f"expected a batch_size that is a multiple of device_batch_size, got {batch} and {device_batch}"
            )
        if not self.learning_rate > 0 or not 0 <= self.warmup < 1 or not self.weight_decay >= 0:
            raise InvalidInputError(
                "expected learning_rate > 0, warmup from 0 to below 1 and weight_decay of at least 0, got "
                f"{self.learning_rate}, {self.warmup} and {self.weight_decay}"
            )

    def comparable(self) -> dict[str, Any]:
        """Return the settings that two runs of one training must share: all except those that only affect memory."""
        return {k: v for k, v in asdict(self).items() if k not in ("device_batch_size", "checkpoint_steps")}


@dataclass(frozen=True, kw_only=True)
class RankerSettings(FitSettings):
    """Settings to train a model for any granularity, from a late-interaction checkpoint or a plain encoder with projection."""

    projection: int | None = None  # size of the token vectors to which a plain encoder is projected
    ways: int | None = None  # passages of each query to use, from the first; None for as many as all examples have
    sentence_weight: float = 1.0  # of the loss over sentences; 0 trains on passages alone, without a second marker

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ways is not None and self.ways < 2:
            raise InvalidInputError(f"expected ways of at least 2, since one passage has no rank, got {self.ways}")
        if not self.sentence_weight >= 0:
            raise InvalidInputError(f"expected sentence_weight of at least 0, got {self.sentence_weight}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankerRecord:
    """The result of a training. `training.json` in the model's folder holds the same."""

    settings: RankerSettings
    examples: str  # id of the contents of all examples
    training_examples: int
    ways: int  # passages of each
    dropped: int  # examples left out, with fewer passages
    sentences: int  # those scored by the teacher, in all passages trained on
    steps: int
    loss: Sequence[Mapping[str, float]]  # "step", and the mean "loss" since the last entry, of "passage" and "sentence"
    measures: Sequence[Mapping[str, float]]  # "step", and what `measure` returned
    factoid: str  # version


def train_ranker(
    examples: Sequence[TrainingExample],
    output: str | os.PathLike[str],
    *,
    settings: RankerSettings,
    measure: Measure | None = None,
    use_cpu: bool = False,
    show_progress: bool = False,
) -> RankerRecord:
    """Train a model on passages and their sentences. `AnyGranularityRanker(output)` loads it.

    Ctrl-C and SIGTERM end the run with a checkpoint after the current step. After that or a kill, the same call resumes from the
    last checkpoint; once the training is finished, it returns the record. Checkpoints are deleted when the model is written.

    Args:
        examples: Training examples; for the loss over sentences, with the scores that `score_sentences` adds.
        output: Folder for the model, its tokenizer and training.json.
        settings: How to train, and from which model.
        measure: Called with the model before the first step, every `checkpoint_steps` and at the end; its results go to the
            record, for a curve.
        use_cpu: Do not use GPUs. Otherwise CUDA is used if available, in bfloat16 if supported.
        show_progress: Show progress bars.

    Raises:
        InvalidInputError: No example is left, none has scores of sentences, the model cannot be loaded, or the folder holds a
            training with other examples or settings.
        MissingDependencyError: torch, Sentence Transformers, accelerate or datasets is not installed.
        KeyboardInterrupt: Ctrl-C or SIGTERM ended the run.
    """
    require_trainer()
    from factoid.late_interaction.training.fit import fit

    folder = Path(output)
    identity = content_id([asdict(example) for example in examples])
    record = read_record(folder)
    if record is None:
        options: dict[str, Any] = {"measure": measure, "use_cpu": use_cpu, "show_progress": show_progress}
        record = fit(folder, examples, settings, identity=identity, **options)
        text = json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n"
        write_file(folder / RECORD, lambda file: file.write(text.encode()))
    elif settings.comparable() != record.settings.comparable() or record.examples != identity:
        raise InvalidInputError(
            f"{folder} holds a model that was trained with other examples or settings: choose another folder"
        )
    return record


def require_trainer() -> None:
    """Check that everything needed for training is installed."""
    for module in ("torch", "sentence_transformers", "accelerate", "datasets"):
        require(module, extra="train")


def read_record(folder: Path) -> RankerRecord | None:
    """Return the record of a finished training, or None if the folder has none.

    Raises:
        UnreadableFileError: The record cannot be read.
    """
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return RankerRecord(**{**values, "settings": RankerSettings(**values["settings"])})
    except (OSError, ValueError, KeyError, TypeError, InvalidInputError) as error:
        raise UnreadableFileError(f"{path} is not a record of a training: {error}") from error
