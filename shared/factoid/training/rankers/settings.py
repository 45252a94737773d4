"""The settings of a training, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from factoid._optional import require


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings to train a teacher of sentences or a late-interaction model.

    The paper gives no numbers; these suit small data.

    Attributes:
        model: The model to start from: name on the Hugging Face hub, or folder.
        epochs: Passes over the examples.
        batch_size: Queries, or sentences of a teacher, in one step of AdamW.
        device_batch_size: How many of these a device holds at once, at most; gradients of a step
            add up.
        learning_rate: Learning rate at its peak.
        warmup: Share of the steps in which the learning rate rises to its peak; then it falls
            linearly to 0.
        max_tokens: Most tokens of a passage in training; None for the model's limit.
        checkpoint_steps: Steps between checkpoints, of which the last two are kept, and between
            evaluations.
        seed: Seed for new weights, the order of examples and dropout.
    """

    model: str
    epochs: int = 1
    batch_size: int = 32
    device_batch_size: int = 8
    learning_rate: float = 1e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    max_tokens: int | None = None
    checkpoint_steps: int = 200
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RankerSettings(FitSettings):
    """Settings to train a model for any granularity.

    It starts from a late-interaction checkpoint, or from a plain encoder with projection.

    Attributes:
        projection: Size of the token vectors to which a plain encoder is projected.
        ways: Passages of each query to use, from the first; None for as many as all examples have.
        sentence_weight: Weight of the loss over sentences; 0 trains on passages alone, without a
            second marker.
        second_marker: Whether the loss over sentences has the query under a marker of its own,
            m'_q; False keeps m_q for both, as in setting A3 of Table 5.
    """

    projection: int | None = None
    ways: int | None = None
    sentence_weight: float = 1.0
    second_marker: bool = True


def require_trainer() -> None:
    """Check that everything needed for training is installed."""
    for module in ("torch", "sentence_transformers", "accelerate", "datasets"):
        require(module, extra="train")
