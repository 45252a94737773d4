"""How a propositionizer is trained, what came of it, and the model card that tells both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.propositions.score import PropositionF1

RECORD = "training.json"
_CARD = "README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How a model is fine-tuned. The defaults are the paper's (Appendix B), as far as it states them.

    Attributes:
        model: Name on the Hugging Face hub, or a folder: the seq2seq model to start from.
        revision: Branch, tag or commit of a model on the hub.
        epochs: Passes over the pairs.
        batch_size: Pairs in one step of AdamW.
        device_batch_size: Pairs that one device holds at once; a step adds up the gradients of as many as it takes.
        learning_rate: At the start; it falls linearly to 0.
        weight_decay: Of AdamW.
        max_tokens: Pairs with a longer input or output are left out.
        checkpoint_steps: Steps between two checkpoints, of which the last two are kept.
        seed: Of the order of pairs and of dropout.

    Raises:
        InvalidInputError: A number is out of its range.
    """

    model: str = "google/flan-t5-large"
    revision: str | None = None
    epochs: int = 3
    batch_size: int = 64
    device_batch_size: int = 8
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    max_tokens: int = 512
    checkpoint_steps: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "device_batch_size", "max_tokens", "checkpoint_steps"):
            if getattr(self, name) < 1:
                message = f"expected {name} of 1 at least, got {getattr(self, name)}"
                raise InvalidInputError(message)
        if not self.learning_rate > 0 or not self.weight_decay >= 0:
            message = "expected learning_rate > 0 and weight_decay >= 0, got "
            message += f"learning_rate={self.learning_rate}, weight_decay={self.weight_decay}"
            raise InvalidInputError(message)

    def comparable(self) -> dict[str, Any]:
        """Return what two runs must have in common to be one training: all but what memory and disk ask for."""
        return {k: v for k, v in asdict(self).items() if k not in ("device_batch_size", "checkpoint_steps")}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecord:
    """What came of a training. `training.json` in the model's folder holds the same.

    Attributes:
        settings: How the model was trained.
        pairs: Checksum of all pairs and of how they were split.
        training_pairs: Number of pairs trained on.
        held_out_pairs: Number of pairs to evaluate on, of other documents.
        dropped: Passages and pairs left out, counted by reason.
        propositionizers: Names of what wrote the pairs.
        steps: Steps of the optimizer.
        loss: Steps, and the mean training loss since the entry before.
        held_out_loss: Loss on the held-out pairs after each epoch.
        similarity: The similarity that `score` was measured with; empty before it is.
        score: Proposition-set F1 on the held-out pairs (Appendix B); None if none were held out.
        factoid: Version of factoid.
    """

    settings: TrainingSettings
    pairs: str
    training_pairs: int
    held_out_pairs: int
    dropped: Mapping[str, int]
    propositionizers: Sequence[str]
    steps: int
    loss: Sequence[tuple[int, float]]
    held_out_loss: Sequence[float]
    similarity: str = ""
    score: PropositionF1 | None = None
    factoid: str = ""


def write_record(folder: Path, record: TrainingRecord) -> None:
    """Write training.json and the model card. training.json is last: with it, the folder is complete."""
    values = {**asdict(record), "factoid": version("factoid")}
    for name, text in ((_CARD, _card(record)), (RECORD, json.dumps(values, indent=2, ensure_ascii=False) + "\n")):
        part = folder / f".{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(folder / name)


def read_record(folder: Path) -> TrainingRecord | None:
    """Return the record of a finished training, or None if the folder has none.

    Raises:
        UnreadableFileError: There is one that cannot be read.
    """
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        score = values["score"]
        return TrainingRecord(
            **{
                **values,
                "settings": TrainingSettings(**values["settings"]),
                "loss": [(int(step), float(loss)) for step, loss in values["loss"]],
                "score": None if score is None else PropositionF1(**score),
            }
        )
    except (OSError, ValueError, KeyError, TypeError, InvalidInputError) as error:
        message = f"{path} is no record of a training: {error}"
        raise UnreadableFileError(message) from error


def _card(record: TrainingRecord) -> str:
    settings = record.settings
    teachers = ", ".join(record.propositionizers) or "not stated"
    dropped = ", ".join(f"{count} {reason}" for reason, count in record.dropped.items()) or "none"
    # YAML strings are JSON strings.
    head = ["library_name: transformers", "pipeline_tag: text2text-generation", "tags: [factoid, propositionizer]"]
    head.append(f"base_model: {json.dumps(settings.model, ensure_ascii=False)}")
    rows = {
        "base model": settings.model + (f" at {settings.revision}" if settings.revision else ""),
        "optimizer": f"AdamW, weight decay {settings.weight_decay:g}",
        "learning rate": f"{settings.learning_rate:g}, falling linearly to 0",
        "batch": f"{settings.batch_size} pairs",
        "epochs": f"{settings.epochs} ({record.steps} steps)",
        "longest input and output": f"{settings.max_tokens} tokens",
        "seed": str(settings.seed),
        "last training loss": f"{record.loss[-1][1]:.4g}" if record.loss else "not measured",
    }
    table = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(
        [
            *("---", *head, "---", "", "# Propositionizer", ""),
            "Writes the propositions of a passage as a JSON list (Dense X Retrieval, arXiv 2312.06648). To use it:",
            *("", "```python", "from factoid import FlanT5Propositionizer", ""),
            *('propositionizer = FlanT5Propositionizer("path/to/this/folder")', "```", "", "## Data", ""),
            f"{record.training_pairs} pairs of a passage and its propositions; {record.held_out_pairs} pairs of other "
            "documents were held out.",
            f"The propositions were written by: {teachers}. Left out: {dropped}.",
            *("", "## Training", "", "| setting | value |", "|---|---|", *table, "", "## Evaluation", ""),
            _evaluation(record),
            "",
        ]
    )


def _evaluation(record: TrainingRecord) -> str:
    if record.score is None:
        return "None: no pairs were held out." if not record.held_out_pairs else "Not measured yet."
    score = record.score
    return (
        f"Proposition-set F1 on the held-out pairs (Appendix B), similarity {record.similarity}: **{score.f1:.3f}** "
        f"(precision {score.precision:.3f}, recall {score.recall:.3f}), the mean over passages."
    )
