"""Train a late-interaction model for any granularity (AGRaME, §3.3): settings and entry point."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid.training.propositionizers.train import check_unfinished, finish
from factoid.training.rankers.examples import TrainingExample
from factoid.training.rankers.settings import RankerSettings, require_trainer

if TYPE_CHECKING:
    from sentence_transformers.base.evaluation import BaseEvaluator


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
    from factoid.training.propositionizers.fine_tune import CHECKPOINTS
    from factoid.training.rankers.fit import fit

    folder = Path(output)
    check_unfinished(folder)
    record = fit(
        folder, examples, settings, evaluator=evaluator, use_cpu=use_cpu, progress=progress
    )
    return finish(folder, {"settings": asdict(settings), **record}, folder / CHECKPOINTS)
