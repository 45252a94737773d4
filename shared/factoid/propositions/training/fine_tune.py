"""The training loop of `train_propositionizer`, in transformers' `Seq2SeqTrainer`. Import it late: it imports torch."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import threading
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import transformers
from tqdm.auto import tqdm
from transformers.utils import logging as transformers_logging

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.engines.checkpoint import Checkpoint
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.prompt import passage_input
from factoid.propositions.training.seeds import SeedPair
from factoid.propositions.training.train import TrainingRecord, TrainingSettings

_LOGS = 100  # approximate number of entries of the loss in a record


def fine_tune(
    folder: Path,
    training: Sequence[SeedPair],
    held_out: Sequence[SeedPair],
    settings: TrainingSettings,
    *,
    identity: str,
    dropped: Mapping[str, int],
    use_cpu: bool,
    show_progress: bool,
) -> TrainingRecord:
    """Train, from the last checkpoint if there is one, and write model and tokenizer."""
    run = hashlib.sha256(json.dumps([settings.comparable(), identity]).encode()).hexdigest()[:12]
    checkpoints = folder / "checkpoints" / run  # another training has its own
    counts = Counter(dropped)
    with quiet():
        checkpoint = Checkpoint(settings.model, settings.revision)
        model, tokenizer = checkpoint.model(torch.float32), checkpoint.tokenizer()
        bar = tqdm(training, desc="tokens", disable=not show_progress)
        features = _features(bar, tokenizer, settings.max_tokens, counts)
        if not features:
            total = len(training) + len(held_out)
            raise InvalidInputError(f"no pair is left to train on: {dict(counts)} of {total} pairs")
        evaluation = {
            "eval_strategy": "epoch" if held_out else "no",
            "per_device_eval_batch_size": settings.device_batch_size,
            "prediction_loss_only": True,
        }
        kind = transformers.Seq2SeqTrainingArguments
        trainer = transformers.Seq2SeqTrainer(
            model,
            training_arguments(kind, settings, checkpoints, len(features), use_cpu=use_cpu, **evaluation),
            data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model=model, pad_to_multiple_of=8),
            train_dataset=features,
            eval_dataset=_features(held_out, tokenizer, settings.max_tokens, counts) or None,
            processing_class=tokenizer,
        )
        try:
            run_trainer(trainer, checkpoints, show_progress=show_progress)
        except torch.OutOfMemoryError as error:
            raise PropositionizerError(
                f"the device's memory does not suffice for {settings.device_batch_size} pairs: make device_batch_size "
                "smaller, which changes no result. The run resumes from its last checkpoint"
            ) from error
        model.config.use_cache = True  # the trainer turns it off, and generation would be slow without it
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    shutil.rmtree(folder / "checkpoints")
    log = trainer.state.log_history
    return TrainingRecord(
        settings=settings,
        pairs=identity,
        training_pairs=len(features),
        held_out_pairs=len(held_out),
        dropped=dict(sorted(counts.items())),
        propositionizers=sorted({pair.propositionizer for pair in training if pair.propositionizer}),
        steps=trainer.state.global_step,
        loss=[(entry["step"], entry["loss"]) for entry in log if "loss" in entry],
        held_out_loss=[entry["eval_loss"] for entry in log if "eval_loss" in entry],
    )


def _features(pairs: Iterable[SeedPair], tokenizer: Any, limit: int, dropped: Counter[str]) -> list[dict[str, Any]]:
    """Return the tokens of pairs that the model can read and write; count the others."""
    features = []
    for pair in pairs:
        inputs = tokenizer(passage_input(pair.passage), verbose=False)
        labels = tokenizer(text_target=json.dumps(pair.propositions, ensure_ascii=False), verbose=False)["input_ids"]
        if max(len(inputs["input_ids"]), len(labels)) > limit:
            dropped["longer than the model reads or writes"] += 1
            continue
        written = read_propositions(tokenizer.decode(labels, skip_special_tokens=True))
        if _normal(written) != _normal(pair.propositions):
            dropped["characters that the tokenizer lacks"] += 1
        else:
            features.append({**inputs, "labels": labels})
    return features


def _normal(texts: Sequence[str]) -> list[str]:
    """Return texts in NFKC, since T5's tokenizer replaces some characters by similar ones."""
    return [unicodedata.normalize("NFKC", " ".join(text.split())) for text in texts]


def training_arguments(
    kind: type[Any], settings: Any, folder: Path, examples: int, *, use_cpu: bool, **options: Any
) -> Any:
    """Return the arguments of a transformers trainer, of the class `kind`; `options` are those specific to this trainer.

    `settings` are `TrainingSettings`, or those of a late-interaction model, which have the same names.
    """
    cuda = torch.cuda.is_available() and not use_cpu
    devices = max(torch.cuda.device_count(), 1) if cuda else 1
    device_batch = min(settings.device_batch_size, settings.batch_size)
    if settings.batch_size % (device_batch * devices):
        raise InvalidInputError(
            f"batch_size must be a multiple of device_batch_size times the number of devices, got {settings.batch_size} "
            f"and {settings.device_batch_size} on {devices}"
        )
    steps = -(-examples // settings.batch_size) * settings.epochs
    return kind(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=device_batch,
        gradient_accumulation_steps=settings.batch_size // (device_batch * devices),
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


def run_trainer(trainer: Any, checkpoints: Path, *, show_progress: bool) -> None:
    """Train from the last checkpoint, if there is one; raise `KeyboardInterrupt` after Ctrl-C or SIGTERM."""
    trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
    if show_progress:
        trainer.add_callback(Progress())
    trainer.add_callback(stop := Stop())
    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, stop.ask) for number in signals}  # other threads get none
    try:
        with quiet():
            trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stop.asked:
        raise KeyboardInterrupt


def last_checkpoint(folder: Path) -> str | None:
    """Return the newest complete checkpoint, which has a state; a kill may have left an incomplete one."""
    for path in sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        try:
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        return str(path)
    return None


class Stop(transformers.TrainerCallback):  # type: ignore[misc]
    """End training after the current step, with a checkpoint, at Ctrl-C or SIGTERM; a second signal ends it at once."""

    asked = False

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Save and stop."""
        if self.asked:
            control.should_save = control.should_training_stop = True


class Progress(transformers.trainer_callback.ProgressCallback):  # type: ignore[misc]
    """A bar over steps with the loss; the one of transformers writes all logs to stdout."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:  # noqa: ARG002
        """Show the loss."""
        if logs and "loss" in logs and self.training_bar is not None:
            self.training_bar.set_description("training")
            self.training_bar.set_postfix(loss=f"{float(logs['loss']):.3f}")


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the logs, warnings and bars of transformers and torch."""
    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
