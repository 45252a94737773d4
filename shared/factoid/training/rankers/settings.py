"""The settings of a training, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from factoid._optional import require


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
    """Settings to train a model for any granularity.

    It starts from a late-interaction checkpoint, or from a plain encoder with projection.
    """

    projection: int | None = None  # size of the token vectors to which a plain encoder is projected
    # passages of each query to use, from the first; None for as many as all examples have
    ways: int | None = None
    # of the loss over sentences; 0 trains on passages alone, without a second marker
    sentence_weight: float = 1.0
    # whether the loss over sentences has the query under a marker of its own, m'_q; False keeps m_q
    # for both, as in setting A3 of Table 5
    second_marker: bool = True


def require_trainer() -> None:
    """Check that everything needed for training is installed."""
    for module in ("torch", "sentence_transformers", "accelerate", "datasets"):
        require(module, extra="train")
