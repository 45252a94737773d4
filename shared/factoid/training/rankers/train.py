"""Train a late-interaction model for any granularity (AGRaME, §3.3): settings and entry point."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.late_interaction.training.examples import TrainingExample
from factoid.propositions.training.train import check_unfinished, finish

if TYPE_CHECKING:
    from sentence_transformers.base.evaluation import BaseEvaluator


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings to train a teacher of sentences or a late-interaction model.

    The paper gives no numbers; these suit small data.
    """

    model: str  # to start from: name on the Hugging Face hub, or folder
    epochs: int = 1  # passes over the examples
    batch_size: int = 32  # queries, or sentences of a teacher, in one step of AdamW
    device_batch_size: int = 8  # of these on a device at once, at most; gradients of a step add up
    learning_rate: float = 1e-5  # at its peak
    # share of the steps in which the learning rate rises to its peak; then it falls linearly to 0
    warmup: float = 0.1
    weight_decay: float = 0.01
    max_tokens: int | None = None  # of a passage in training; None for the model's limit
    # between checkpoints, of which the last two are kept, and between evaluations
    checkpoint_steps: int = 200
    seed: int = 0  # for new weights, the order of examples and dropout


@dataclass(frozen=True, kw_only=True)
class RankerSettings(FitSettings):
    """Settings to train a model for any granularity, from a late-interaction checkpoint or a plain encoder with projection."""

    projection: int | None = None  # size of the token vectors to which a plain encoder is projected
    # passages of each query to use, from the first; None for as many as all examples have
    ways: int | None = None
    # of the loss over sentences; 0 trains on passages alone, without a second marker
    sentence_weight: float = 1.0


def train_ranker(
    examples: Sequence[TrainingExample],
    output: str | os.PathLike[str],
    *,
    settings: RankerSettings,
    evaluator: BaseEvaluator | None = None,
    use_cpu: bool = False,
    progress: bool = False,
) -> dict[str, Any]:
    """Train a model on passages and their sentences. `AnyGranularityRanker(output)` loads it.

    After an interrupt or a kill, the same call resumes from the last checkpoint. Checkpoints are
    deleted when the training is finished.

    Args:
        examples: Training examples; for the loss over sentences, with the scores that
            `score_sentences` adds.
        output: Folder for the model, its tokenizer and training.json.
        settings: How to train, and from which model.
        evaluator: Sentence Transformers calls it before the first step and every
            `checkpoint_steps`, and logs its results.
        use_cpu: Do not use GPUs. Otherwise CUDA is used if available, in bfloat16 if supported.
        progress: Show progress bars.

    Returns:
        What training.json holds: settings, version, `training_examples`, their `ways`, `dropped`
        examples with fewer passages, `sentences` scored by the teacher, `steps`, and the `log` of
        the trainer, with "loss" and its parts "passage" and "sentence".

    Raises:
        InvalidInputError: No example is left, none has scores of sentences, the model cannot be
            loaded, or the folder holds a finished model.
        MissingDependencyError: torch, Sentence Transformers, accelerate or datasets is not
            installed.
    """
    require_trainer()
    from factoid.late_interaction.training.fit import fit
    from factoid.propositions.training.fine_tune import CHECKPOINTS

    folder = Path(output)
    check_unfinished(folder)
    record = fit(
        folder, examples, settings, evaluator=evaluator, use_cpu=use_cpu, progress=progress
    )
    return finish(folder, {"settings": asdict(settings), **record}, folder / CHECKPOINTS)


def require_trainer() -> None:
    """Check that everything needed for training is installed."""
    for module in ("torch", "sentence_transformers", "accelerate", "datasets"):
        require(module, extra="train")
