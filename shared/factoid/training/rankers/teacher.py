"""The teacher of sentences CE'.

A cross-encoder that reads a passage with one sentence marked (AGRaME, §3.3).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.encode import loading
from factoid.errors import InvalidInputError
from factoid.files.atomic import write_file
from factoid.progress import tracked
from factoid.sentences import sentence_spans
from factoid.training.rankers.examples import TrainingExample, mark_sentence
from factoid.training.rankers.settings import FitSettings, require_trainer
from factoid.units import content_id

Scores = tuple[tuple[float, ...] | None, ...]  # of the sentences of each passage

_RECORD = "teacher.json"
_CHUNK = 64  # examples whose scores are written at once


def train_teacher(
    examples: Sequence[TrainingExample],
    output: str | os.PathLike[str],
    *,
    settings: FitSettings,
    use_cpu: bool = False,
    progress: bool = False,
) -> None:
    """Train a cross-encoder to recognise sentences with an answer.

    It is trained by binary cross-entropy, and written to a folder. It learns from each example's
    best passage with an answer; examples without one are left out. The model to start from is a
    cross-encoder, or any encoder. Arguments are those of `train_ranker`, and runs resume in the
    same way. A teacher that the folder already holds is kept.

    Raises:
        InvalidInputError: No passage holds an answer, the model cannot be loaded, or the folder
            holds a teacher trained with other examples or settings.
    """
    require_trainer()
    from datasets import Dataset
    from sentence_transformers import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

    from factoid.training.propositionizers.fine_tune import (
        CHECKPOINTS,
        run_id,
        run_trainer,
        training_arguments,
    )

    folder = Path(output)
    identity = run_id(settings, examples)
    record = json.dumps({"training": identity}).encode()
    if (folder / _RECORD).exists():
        if (folder / _RECORD).read_bytes() != record:
            raise InvalidInputError(
                f"{folder} holds a teacher trained with other examples or settings: choose "
                "another folder"
            )
        return
    # for the head that a plain encoder lacks
    require("torch", extra="train").manual_seed(settings.seed)
    model = _load(settings.model, use_cpu=use_cpu, max_tokens=settings.max_tokens)
    model.model_card_data.generate_widget_examples = False
    rows: list[dict[str, Any]] = []
    for example in examples:
        rows += _labelled(example)
    if not rows:
        raise InvalidInputError(
            f"expected examples with answers in one of their passages, got none in {len(examples)}"
        )
    checkpoints = folder / CHECKPOINTS / identity
    options: dict[str, Any] = {"use_cpu": use_cpu, "warmup_steps": settings.warmup}
    arguments = training_arguments(
        CrossEncoderTrainingArguments, settings, checkpoints, len(rows), **options
    )
    data = Dataset.from_list(rows)
    loss = BinaryCrossEntropyLoss(model)
    trainer = CrossEncoderTrainer(model=model, args=arguments, train_dataset=data, loss=loss)
    run_trainer(trainer, progress=progress)
    model.save_pretrained(str(folder), create_model_card=False)
    write_file(folder / _RECORD, lambda file: file.write(record))
    shutil.rmtree(checkpoints.parent)


def score_sentences(
    examples: Sequence[TrainingExample],
    teacher: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    ways: int | None = None,
    batch_size: int = 32,
    use_cpu: bool = False,
    progress: bool = False,
) -> list[TrainingExample]:
    """Return the examples with the teacher's scores of their sentences, as logits.

    Existing scores stay. A passage of a single sentence is not scored: there is nothing to tell
    apart.

    Args:
        examples: Queries with passages.
        teacher: Name or folder of a cross-encoder for marked sentences, such as one from
            `train_teacher`.
        file: Receives the scores as they are computed; a second call with this file resumes.
        ways: Number of passages of each example to use, from the first; None for all.
        batch_size: Sentences in one forward pass.
        use_cpu: Do not use GPUs.
        progress: Show a progress bar.

    Raises:
        InvalidInputError: The teacher cannot be loaded.
        MissingDependencyError: torch or Sentence Transformers is not installed.
    """
    require("sentence_transformers", extra="train")
    name = os.fspath(teacher)
    path = Path(file)
    model = _load(name, use_cpu=use_cpu)
    scored = _read_scores(path)
    keys = [content_id(name, ways, example.query, *example.passages) for example in examples]
    todo = []
    for place, key in enumerate(keys):
        if key not in scored and not examples[place].sentence_scores:
            todo.append(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as out:
        for start in tracked(
            range(0, len(todo), _CHUNK), show=progress, unit=f" times {_CHUNK} queries"
        ):
            marked = {
                place: _marked(examples[place], ways) for place in todo[start : start + _CHUNK]
            }
            pairs = []
            for place in marked:
                for text in chain.from_iterable(marked[place]):
                    pairs.append((examples[place].query, text))
            scores = iter(_logits(model, pairs, batch_size))
            for place, passages in marked.items():
                row = tuple(tuple(next(scores) for _ in texts) or None for texts in passages)
                scored[keys[place]] = row
                # after what a kill may have left
                out.write("\n" + json.dumps({"id": keys[place], "scores": row}))
            out.flush()
    scored_examples = []
    for example, key in zip(examples, keys, strict=True):
        if example.sentence_scores:
            scored_examples.append(example)
        else:
            scored_examples.append(replace(example, sentence_scores=scored[key]))
    return scored_examples


def _labelled(example: TrainingExample) -> Iterator[dict[str, Any]]:
    """Yield the marked sentences of the best passage with an answer.

    The label is 1 for those with the answer and 0 for others.
    """
    ranked = sorted(range(len(example.passages)), key=lambda place: -example.scores[place])
    best = next((place for place in ranked if any(example.holds_answer(place))), None)
    if best is not None:
        text = example.passages[best]
        for span, label in zip(sentence_spans(text), example.holds_answer(best), strict=True):
            yield {
                "query": example.query,
                "passage": mark_sentence(text, span),
                "label": float(label),
            }


def _marked(example: TrainingExample, ways: int | None) -> list[list[str]]:
    """Return each passage's marked sentences, [] if it is not scored."""
    marked: list[list[str]] = [[] for _ in example.passages]
    for place, text in enumerate(example.passages[:ways]):
        spans = sentence_spans(text)
        if len(spans) > 1:
            marked[place] = [mark_sentence(text, span) for span in spans]
    return marked


def _logits(model: Any, pairs: list[tuple[str, str]], batch_size: int) -> list[float]:
    if not pairs:
        return []
    identity = require("torch", extra="train").nn.Identity()
    scores = model.predict(
        pairs, activation_fn=identity, batch_size=batch_size, show_progress_bar=False
    )
    return list(map(float, scores))


def _load(name: str, *, use_cpu: bool, max_tokens: int | None = None) -> Any:
    library = require("sentence_transformers", extra="train")
    with loading("cross-encoder", name):
        device = None
        if use_cpu:
            device = "cpu"
        model = library.CrossEncoder(name, num_labels=1, device=device)
    if max_tokens is not None:
        model.max_seq_length = max_tokens
    return model


def _read_scores(path: Path) -> dict[str, Scores]:
    """Return the scores in a file by id, without a line that a kill has cut off."""
    scored: dict[str, Scores] = {}
    if not path.exists():
        return scored
    for line in path.read_text(encoding="utf-8").split("\n"):
        with suppress(ValueError):
            row = json.loads(line)
            scored[row["id"]] = tuple(scores and tuple(scores) for scores in row["scores"])
    return scored
