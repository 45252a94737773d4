"""The teacher of sentences CE': a cross-encoder that reads a passage with one sentence marked (AGRaME, §3.3)."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.encode import loading
from factoid.errors import InvalidInputError
from factoid.files.atomic import write_file
from factoid.files.lines import filled_lines, parse_object
from factoid.late_interaction.training.examples import TrainingExample, mark_sentence, per_passage
from factoid.late_interaction.training.train import FitSettings, require_trainer
from factoid.progress import progress
from factoid.sentences import sentence_spans
from factoid.units import content_id

_RECORD = "teacher.json"
_CHUNK = 64  # examples whose scores are written at once

logger = logging.getLogger(__name__)


def train_teacher(
    examples: Sequence[TrainingExample],
    output: str | os.PathLike[str],
    *,
    settings: FitSettings,
    use_cpu: bool = False,
    show_progress: bool = False,
) -> None:
    """Train a cross-encoder to recognise sentences with an answer, by binary cross-entropy, and write it to a folder.

    It learns from each example's best passage with an answer; examples without one, and passages longer than the model reads,
    are left out. The model to start from is a cross-encoder, or any encoder. Arguments are those of `train_ranker`, and runs end,
    resume and fail in the same way.

    Raises:
        InvalidInputError: No passage holds an answer, the model cannot be loaded, or the folder holds a teacher trained with
            other examples or settings.
    """
    require_trainer()
    from factoid.propositions.training.fine_tune import run_trainer, training_arguments

    folder = Path(output)
    identity = content_id([asdict(example) for example in examples])
    record = json.dumps({"settings": settings.comparable(), "examples": identity})
    if (folder / _RECORD).exists():
        if (folder / _RECORD).read_bytes() != record.encode():
            raise InvalidInputError(
                f"{folder} holds a teacher that was trained with other examples or settings: choose another folder"
            )
        return
    from datasets import Dataset
    from sentence_transformers import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

    require("torch", extra="train").manual_seed(settings.seed)  # for the head that a plain encoder lacks
    model = _load(settings.model, use_cpu=use_cpu, max_tokens=settings.max_tokens)
    model.model_card_data.generate_widget_examples = False
    rows = [row for example in examples for row in _labelled(example, model)]
    if not rows:
        raise InvalidInputError(f"expected examples with answers in one of their passages, got none in {len(examples)}")
    checkpoints = folder / "checkpoints" / content_id(record)
    options: dict[str, Any] = {"use_cpu": use_cpu, "warmup_steps": settings.warmup}
    arguments = training_arguments(CrossEncoderTrainingArguments, settings, checkpoints, len(rows), **options)
    data, loss = Dataset.from_list(rows), BinaryCrossEntropyLoss(model)
    trainer = CrossEncoderTrainer(model=model, args=arguments, train_dataset=data, loss=loss)
    run_trainer(trainer, checkpoints, show_progress=show_progress)
    model.save_pretrained(str(folder), create_model_card=False)
    shutil.rmtree(checkpoints.parent)
    write_file(folder / _RECORD, lambda file: file.write(record.encode()))


def score_sentences(
    examples: Sequence[TrainingExample],
    teacher: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    ways: int | None = None,
    least_weight: float = 0.01,
    batch_size: int = 32,
    use_cpu: bool = False,
    show_progress: bool = False,
) -> list[TrainingExample]:
    """Return the examples with the teacher's scores of their sentences, as logits.

    Existing scores stay. A passage is not scored if it has a single sentence, if it is longer than the teacher reads (the number
    of these is logged), or if its weight is small, since its sentences would change the loss by less than that.

    Args:
        examples: Queries with passages.
        teacher: Name or folder of a cross-encoder for marked sentences, such as one from `train_teacher`.
        file: Receives the scores as they are computed; a second call with this file resumes.
        ways: Number of passages of each example to use, from the first; None for all.
        least_weight: Least share of a passage in the softmax of the example's scores.
        batch_size: Sentences in one forward pass.
        use_cpu: Do not use GPUs.
        show_progress: Show a progress bar.

    Raises:
        InvalidInputError: The teacher cannot be loaded.
        MissingDependencyError: torch or Sentence Transformers is not installed.
    """
    require("sentence_transformers", extra="train")
    name, path = os.fspath(teacher), Path(file)
    model = _load(name, use_cpu=use_cpu)
    scored = _read_scores(path)
    options = [name, ways, least_weight]
    keys = [content_id(options, asdict(example)) for example in examples]
    todo = [place for place, key in enumerate(keys) if key not in scored and not examples[place].sentence_scores]
    unread = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as out:
        for start in progress(range(0, len(todo), _CHUNK), show=show_progress, unit=f" times {_CHUNK} queries"):
            chunk = todo[start : start + _CHUNK]
            marked: dict[int, list[list[str]]] = {}
            for place in chunk:
                marked[place], too_long = _to_score(examples[place], model, ways, least_weight)
                unread += too_long
            pairs = [(examples[place].query, text) for place in chunk for texts in marked[place] for text in texts]
            scores = iter(_logits(model, pairs, batch_size))
            for place, passages in marked.items():
                row = [[next(scores) for _ in texts] or None for texts in passages]
                scored[keys[place]] = row
                out.write(json.dumps({"id": keys[place], "scores": row}) + "\n")
            out.flush()
    if unread:
        logger.warning("%d passages are longer than the teacher %s reads: their sentences are not scored", unread, name)
    return [
        example if example.sentence_scores else replace(example, sentence_scores=per_passage(scored[key]))
        for example, key in zip(examples, keys, strict=True)
    ]


def _labelled(example: TrainingExample, model: Any) -> Iterator[dict[str, Any]]:
    """Yield the marked sentences of the best passage with an answer, labelled 1 for those with the answer and 0 for others."""
    ranked = sorted(range(len(example.passages)), key=lambda place: -example.scores[place])
    best = next((place for place in ranked if any(example.holds_answer(place))), None)
    if best is not None and _reads(model, example.query, text := example.passages[best]):
        for span, label in zip(sentence_spans(text), example.holds_answer(best), strict=True):
            yield {"query": example.query, "passage": mark_sentence(text, span), "label": float(label)}


def _to_score(
    example: TrainingExample, model: Any, ways: int | None, least_weight: float
) -> tuple[list[list[str]], int]:
    """Return each passage's marked sentences, [] if it is not scored, and the number of passages too long for the teacher."""
    marked: list[list[str]] = [[] for _ in example.passages]
    unread = 0
    weights = require("scipy.special", extra="train").softmax(example.scores[:ways])
    for place, weight in enumerate(weights):
        text = example.passages[place]
        spans = sentence_spans(text)
        if weight >= least_weight and len(spans) > 1:
            if _reads(model, example.query, text):
                marked[place] = [mark_sentence(text, span) for span in spans]
            else:
                unread += 1
    return marked, unread


def _reads(model: Any, query: str, passage: str) -> bool:
    """Return whether a query and a passage with its two marks fit the model."""
    tokens = model.tokenizer(query, passage, truncation=False, verbose=False)["input_ids"]
    return model.max_seq_length is None or len(tokens) + 2 <= model.max_seq_length


def _logits(model: Any, pairs: list[tuple[str, str]], batch_size: int) -> list[float]:
    if not pairs:
        return []
    identity = require("torch", extra="train").nn.Identity()
    scores = model.predict(pairs, activation_fn=identity, batch_size=batch_size, show_progress_bar=False)
    return [float(score) for score in scores]


def _load(name: str, *, use_cpu: bool, max_tokens: int | None = None) -> Any:
    library = require("sentence_transformers", extra="train")
    with loading("cross-encoder", name):
        model = library.CrossEncoder(name, num_labels=1, device="cpu" if use_cpu else None)
    if max_tokens is not None:
        model.max_seq_length = max_tokens
    return model


def _read_scores(path: Path) -> dict[str, list[list[float] | None]]:
    """Return the scores in a file by id. An incomplete last line, left by a kill, is cut off."""
    if not path.exists():
        return {}
    whole = path.read_bytes()
    if not whole.endswith(b"\n"):
        whole = whole[: whole.rfind(b"\n") + 1]
        write_file(path, lambda file: file.write(whole))
    rows = (parse_object(line) for _, line in filled_lines(path))
    return {row["id"]: row["scores"] for row in rows}
