"""The settings of a training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Settings to fine-tune a model.

    The defaults are the paper's (Appendix B), as far as it states them.
    """

    # the seq2seq model to start from: name on the Hugging Face hub, or a folder
    model: str = "google/flan-t5-large"
    revision: str | None = None  # branch, tag or commit of a model on the hub
    epochs: int = 3  # passes over the pairs
    batch_size: int = 64  # pairs in one step of AdamW
    # pairs that a device holds at once, at most; gradients of a step add up
    device_batch_size: int = 8
    learning_rate: float = 1e-4  # at the start; it falls linearly to 0
    weight_decay: float = 1e-4
    max_tokens: int = 512  # pairs with a longer input or output are left out
    checkpoint_steps: int = 200  # between checkpoints, of which the last two are kept
    seed: int = 0  # for the order of pairs and dropout
