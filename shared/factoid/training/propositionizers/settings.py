"""The settings of a training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """Settings to fine-tune a model.

    The defaults are the paper's (Appendix B), as far as it states them.

    Attributes:
        model: The seq2seq model to start from: name on the Hugging Face hub, or a folder.
        revision: Branch, tag or commit of a model on the hub.
        epochs: Passes over the pairs.
        batch_size: Pairs in one step of AdamW.
        device_batch_size: Pairs that a device holds at once, at most; gradients of a step add up.
        learning_rate: Learning rate at the start; it falls linearly to 0.
        max_tokens: Pairs with a longer input or output are left out.
        checkpoint_steps: Steps between checkpoints, of which the last two are kept.
        seed: Seed for the order of pairs and dropout.
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
