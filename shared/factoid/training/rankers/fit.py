"""The training loop of `train_ranker`, in Sentence Transformers' `MultiVectorEncoderTrainer`.

Import it late, for torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import MultiVectorEncoderTrainer, MultiVectorEncoderTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator

from factoid.errors import InvalidInputError
from factoid.late_interaction.encoder import FINER_PROMPT
from factoid.sentences import sentence_spans
from factoid.training.propositionizers.fine_tune import (
    CHECKPOINTS,
    run_id,
    run_trainer,
    training_arguments,
)
from factoid.training.rankers.examples import TrainingExample
from factoid.training.rankers.loss import MultiGranularLoss, collator
from factoid.training.rankers.model import add_marker, load_model
from factoid.training.rankers.settings import RankerSettings


def fit(
    folder: Path,
    examples: Sequence[TrainingExample],
    settings: RankerSettings,
    *,
    evaluator: BaseEvaluator | None,
    use_cpu: bool,
    progress: bool,
) -> dict[str, Any]:
    """Train, write the model, and return counts and logs.

    It starts from the last checkpoint if there is one.
    """
    finer = None
    if settings.sentence_weight:
        finer = "query"
        if settings.second_marker:
            finer = FINER_PROMPT
    ways = settings.ways or min((len(example.passages) for example in examples), default=2)
    device = "cpu" if use_cpu else None
    model = load_model(
        settings.model, projection=settings.projection, seed=settings.seed, device=device
    )
    if finer == FINER_PROMPT:
        add_marker(model, finer)
    model.model_card_data.generate_widget_examples = False  # no model card is written
    rows = training_rows(examples, ways, finer)
    batches = collator(model, finer_prompt=finer, ways=ways)
    if settings.max_tokens:
        batches.max_length = {"document": settings.max_tokens}
    eval_strategy = "no"
    if evaluator:
        eval_strategy = "steps"
    trainer = MultiVectorEncoderTrainer(
        model=model,
        args=training_arguments(
            MultiVectorEncoderTrainingArguments,
            settings,
            folder / CHECKPOINTS / run_id(settings, examples),
            len(rows),
            use_cpu=use_cpu,
            warmup_steps=settings.warmup,
            eval_strategy=eval_strategy,
            eval_steps=settings.checkpoint_steps,
            eval_on_start=evaluator is not None,
        ),
        train_dataset=Dataset.from_list(rows),
        loss=MultiGranularLoss(model, sentence_weight=settings.sentence_weight),
        data_collator=batches,
        evaluator=evaluator,
    )
    run_trainer(trainer, progress=progress)
    model.save_pretrained(str(folder), create_model_card=False)
    sentences = 0
    for row in rows:
        sentences += sum(map(len, row["sentences"]))
    counts = {
        "training_examples": len(rows),
        "ways": ways,
        "dropped": len(examples) - len(rows),
        "sentences": sentences,
    }
    return {**counts, "steps": trainer.state.global_step, "log": trainer.state.log_history}


def training_rows(
    examples: Sequence[TrainingExample], ways: int, finer: str | None
) -> list[dict[str, Any]]:
    """Return the columns of each example with enough passages.

    They are in the form that `SentenceCollator` takes.
    """
    rows = []
    for example in examples:
        if len(example.passages) < ways:
            continue
        passages = example.passages[:ways]
        row: dict[str, Any] = {"query": example.query}
        if finer:
            row["finer"] = example.query
        row |= {f"document_{way}": text for way, text in enumerate(passages, 1)}
        row["scores"] = list(map(float, example.scores[:ways]))
        row["sentences"] = []
        sentence_scores: Sequence[Sequence[float] | None] = [None] * ways
        if finer and example.sentence_scores:
            sentence_scores = example.sentence_scores
        for text, scores in zip(passages, sentence_scores, strict=False):
            pairs = zip(sentence_spans(text), scores or (), strict=False)
            row["sentences"].append([[*map(float, span), float(score)] for span, score in pairs])
        rows.append(row)
    if not rows:
        raise InvalidInputError(
            f"no example is left to train on: all {len(examples)} have fewer passages than "
            f"ways={ways}"
        )
    if finer and not any(any(row["sentences"]) for row in rows):
        raise InvalidInputError(
            "no example has sentence_scores: have a teacher score the sentences (score_sentences, "
            "or --teacher), or train on passages alone with sentence_weight=0"
        )
    return rows
