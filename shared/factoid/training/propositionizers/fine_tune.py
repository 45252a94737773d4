"""The training loop of `train_propositionizer`, in transformers' `Seq2SeqTrainer`.

Import it late: it imports torch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
from tqdm.auto import tqdm

from factoid.errors import InvalidInputError
from factoid.propositions.engines.checkpoint import Checkpoint
from factoid.propositions.prompting.prompt import passage_input
from factoid.training.propositionizers.seeds import SeedPair
from factoid.training.propositionizers.settings import TrainingSettings
from factoid.units import content_id

CHECKPOINTS = "checkpoints"  # folder beside the model, until it is finished
_LOGS = 100  # approximate number of entries of the loss in a record


def fine_tune(
    folder: Path,
    training: Sequence[SeedPair],
    held_out: Sequence[SeedPair],
    settings: TrainingSettings,
    *,
    use_cpu: bool,
    progress: bool,
) -> dict[str, Any]:
    """Train, write model and tokenizer, and return counts and logs.

    It starts from the last checkpoint if there is one.
    """
    dropped: Counter[str] = Counter()
    checkpoint = Checkpoint(settings.model, settings.revision)
    model = checkpoint.model(torch.float32)
    tokenizer = checkpoint.tokenizer()
    bar = tqdm(training, desc="tokens", disable=not progress)
    features = _features(bar, tokenizer, settings.max_tokens, dropped)
    if not features:
        raise InvalidInputError(
            f"no pair is left to train on: {dict(dropped)} of {len(training)} pairs"
        )
    eval_strategy = "no"
    if held_out:
        eval_strategy = "epoch"
    trainer = transformers.Seq2SeqTrainer(
        model,
        training_arguments(
            transformers.Seq2SeqTrainingArguments,
            settings,
            folder / CHECKPOINTS / run_id(settings, training, held_out),
            len(features),
            use_cpu=use_cpu,
            eval_strategy=eval_strategy,
            per_device_eval_batch_size=settings.device_batch_size,
            prediction_loss_only=True,
        ),
        data_collator=transformers.DataCollatorForSeq2Seq(
            tokenizer, model=model, pad_to_multiple_of=8
        ),
        train_dataset=features,
        eval_dataset=_features(held_out, tokenizer, settings.max_tokens, dropped) or None,
        processing_class=tokenizer,
    )
    run_trainer(trainer, progress=progress)
    model.config.use_cache = (
        True  # the trainer turns it off, and generation would be slow without it
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    counts = {
        "training_pairs": len(features),
        "held_out_pairs": len(held_out),
        "dropped": dict(dropped),
    }
    return {**counts, "steps": trainer.state.global_step, "log": trainer.state.log_history}


def _features(
    pairs: Iterable[SeedPair], tokenizer: Any, limit: int, dropped: Counter[str]
) -> list[dict[str, Any]]:
    """Return the tokens of pairs that the model can read and write; count the others."""
    features = []
    for pair in pairs:
        inputs = tokenizer(passage_input(pair.passage), verbose=False)
        labels = tokenizer(
            text_target=json.dumps(pair.propositions, ensure_ascii=False), verbose=False
        )["input_ids"]
        if max(len(inputs["input_ids"]), len(labels)) > limit:
            dropped["longer than the model reads or writes"] += 1
        elif tokenizer.unk_token_id in labels:
            dropped["characters that the tokenizer lacks"] += 1
        else:
            features.append({**inputs, "labels": labels})
    return features


def run_id(settings: Any, *data: object) -> str:
    """Return the name of a training's checkpoints, which no other one resumes.

    `device_batch_size` does not change it.
    """
    return content_id(replace(settings, device_batch_size=1), *data)


def training_arguments(
    kind: type[Any], settings: Any, folder: Path, examples: int, *, use_cpu: bool, **options: Any
) -> Any:
    """Return the arguments of a transformers trainer, of the class `kind`.

    `options` are those specific to this trainer. `settings` are `TrainingSettings`, or those of a
    late-interaction model, which have the same names.
    """
    cuda = torch.cuda.is_available() and not use_cpu
    devices = 1
    if cuda:
        devices = torch.cuda.device_count()
    share = max(1, settings.batch_size // devices)  # of a device in a step
    device_batch = max(
        size for size in range(1, settings.device_batch_size + 1) if share % size == 0
    )
    steps = -(-examples // settings.batch_size) * settings.epochs
    return kind(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=device_batch,
        gradient_accumulation_steps=share // device_batch,
        optim="adamw_torch",
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        lr_scheduler_type="linear",
        bf16=cuda and torch.cuda.is_bf16_supported(),  # never float16, where T5 overflows
        use_cpu=not cuda,
        dataloader_pin_memory=cuda,
        seed=settings.seed,
        save_steps=settings.checkpoint_steps,
        save_total_limit=2,
        logging_steps=max(steps // _LOGS, 1),
        disable_tqdm=True,
        report_to="none",
        **options,
    )


def run_trainer(trainer: Any, *, progress: bool) -> None:
    """Train from the last whole checkpoint, if there is one."""
    trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
    if progress:
        trainer.add_callback(Progress())
    states = Path(trainer.args.output_dir).glob("checkpoint-*/trainer_state.json")
    whole = (
        path.parent for path in states if path.read_bytes().endswith(b"}\n")
    )  # a state is written last
    newest = max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
    trainer.train(resume_from_checkpoint=newest and str(newest))


class Progress(transformers.trainer_callback.ProgressCallback):  # type: ignore[misc]
    """A bar over steps with the loss; the one of transformers writes all logs to stdout."""

    def on_log(
        self,
        args: Any,  # noqa: ARG002
        state: Any,  # noqa: ARG002
        control: Any,  # noqa: ARG002
        logs: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Show the loss."""
        if logs and "loss" in logs:
            self.training_bar.set_postfix(loss=f"{float(logs['loss']):.3f}")
