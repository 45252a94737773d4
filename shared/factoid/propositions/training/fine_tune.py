"""The work of `train_propositionizer`, in transformers' `Seq2SeqTrainer`. Import it late: it imports torch."""

from __future__ import annotations

import json
import shutil
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from tqdm.auto import tqdm
from transformers.utils import logging as transformers_logging

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.prompt import passage_input
from factoid.propositions.training.seeds import SeedPair
from factoid.propositions.training.trainer_callbacks import Progress, Stop, stopping
from factoid.propositions.training.training_record import TrainingRecord, TrainingSettings

_STATE = "trainer_state.json"  # what the trainer writes last into a checkpoint
_RUN = "run.json"
_LOGS = 100  # entries of the loss in a record, about


@dataclass(frozen=True, slots=True)
class Run:
    """One training: where, how and on what."""

    folder: Path
    settings: TrainingSettings
    identity: str
    training: Sequence[SeedPair]
    held_out: Sequence[SeedPair]
    dropped: dict[str, int]

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.folder / "checkpoints"


def fine_tune(run: Run, *, use_cpu: bool, show_progress: bool) -> TrainingRecord:
    """Train, from the last checkpoint if there is one, and write model and tokenizer. See `train_propositionizer`."""
    _claim(run)
    hidden, limit = not show_progress, run.settings.max_tokens
    with quiet():
        model, tokenizer = _load(run.settings)
        dropped = Counter(run.dropped)
        training = _features(tqdm(run.training, desc="tokens", disable=hidden), tokenizer, limit, dropped)
        held_out = _features(run.held_out, tokenizer, limit, dropped)
        if not training:
            message = f"no pair is left to train on: {dict(dropped)} of {len(run.training) + len(run.held_out)} pairs"
            raise InvalidInputError(message)
        trainer = _trainer(run, model, tokenizer, training, held_out, use_cpu)
        with stopping() as stop:
            trainer.add_callback(Stop(stop))
            trainer.add_callback(Progress(shown=show_progress))
            try:
                trainer.train(resume_from_checkpoint=_last_checkpoint(run.checkpoints))
            except torch.OutOfMemoryError as error:
                message = (
                    f"the device's memory does not suffice for {run.settings.device_batch_size} pairs of up to "
                    f"{run.settings.max_tokens} tokens: make device_batch_size smaller (a step still takes "
                    f"{run.settings.batch_size} pairs). The run goes on from its last checkpoint"
                )
                raise PropositionizerError(message) from error
        if stop.is_set():
            raise KeyboardInterrupt
        model.config.use_cache = True  # the trainer turns it off, and generation would be slow without
        model.save_pretrained(run.folder)
        tokenizer.save_pretrained(run.folder)
    shutil.rmtree(run.checkpoints)
    log = trainer.state.log_history
    return TrainingRecord(
        settings=run.settings,
        pairs=run.identity,
        training_pairs=len(training),
        held_out_pairs=len(run.held_out),
        dropped=dict(sorted(dropped.items())),
        propositionizers=sorted({pair.propositionizer for pair in run.training if pair.propositionizer}),
        steps=trainer.state.global_step,
        loss=[(entry["step"], entry["loss"]) for entry in log if "loss" in entry],
        held_out_loss=[entry["eval_loss"] for entry in log if "eval_loss" in entry],
    )


def _claim(run: Run) -> None:
    """Note whose checkpoints these are, or refuse those of another run."""
    path = run.checkpoints / _RUN
    own = {"settings": run.settings.comparable(), "pairs": run.identity}
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if found != own:
            message = (
                f"{run.checkpoints} belongs to a training with other pairs or settings: delete it to start anew, or "
                "choose another folder"
            )
            raise InvalidInputError(message)
        return
    run.checkpoints.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(own), encoding="utf-8")
    part.replace(path)


def _load(settings: TrainingSettings) -> tuple[Any, Any]:
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(settings.model, revision=settings.revision)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            settings.model, revision=settings.revision, dtype=torch.float32
        )
    except (OSError, ValueError, RuntimeError) as error:
        message = (
            f"cannot load the seq2seq model {settings.model!r}: {str(error).strip().partition(chr(10))[0]} Expected a "
            "model of the Hugging Face hub such as google/flan-t5-large, or a folder as save_pretrained writes it"
        )
        raise PropositionizerError(message) from error
    return model, tokenizer


def _features(pairs: Iterable[SeedPair], tokenizer: Any, limit: int, dropped: Counter[str]) -> list[dict[str, Any]]:
    """Return the tokens of pairs that the model can read and write; count the others."""
    features = []
    for pair in pairs:
        given = tokenizer(passage_input(pair.passage), verbose=False)
        wanted = tokenizer(text_target=json.dumps(pair.propositions, ensure_ascii=False), verbose=False)["input_ids"]
        if max(len(given["input_ids"]), len(wanted)) > limit:
            dropped["longer than the model reads or writes"] += 1
        elif not _survives(pair, tokenizer.decode(wanted, skip_special_tokens=True)):
            dropped["characters that the tokenizer lacks"] += 1
        else:
            features.append({**given, "labels": wanted})
    return features


def _survives(pair: SeedPair, decoded: str) -> bool:
    """Tell whether propositions are read back as they were; T5's tokenizer changes some characters for like ones."""
    read = [unicodedata.normalize("NFKC", text) for text in read_propositions(decoded)]
    return read == [unicodedata.normalize("NFKC", " ".join(text.split())) for text in pair.propositions]


def _trainer(
    run: Run, model: Any, tokenizer: Any, training: list[dict[str, Any]], held_out: list[dict[str, Any]], use_cpu: bool
) -> Any:
    settings = run.settings
    cuda = torch.cuda.is_available() and not use_cpu
    devices = max(torch.cuda.device_count(), 1) if cuda else 1
    at_once = min(settings.device_batch_size, settings.batch_size) * devices
    if settings.batch_size % at_once:
        message = (
            f"batch_size must be a multiple of device_batch_size times the number of devices, got {settings.batch_size} "
            f"and {settings.device_batch_size} on {devices}"
        )
        raise InvalidInputError(message)
    steps = -(-len(training) // settings.batch_size) * settings.epochs
    arguments = transformers.Seq2SeqTrainingArguments(
        output_dir=str(run.checkpoints),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=at_once // devices,
        per_device_eval_batch_size=at_once // devices,
        gradient_accumulation_steps=settings.batch_size // at_once,
        optim="adamw_torch",
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        lr_scheduler_type="linear",
        bf16=cuda and torch.cuda.is_bf16_supported(),  # never float16, in which T5 overflows
        use_cpu=not cuda,
        dataloader_pin_memory=cuda,
        seed=settings.seed,
        save_steps=settings.checkpoint_steps,
        save_total_limit=2,
        logging_steps=max(steps // _LOGS, 1),
        eval_strategy="epoch" if held_out else "no",
        prediction_loss_only=True,
        disable_tqdm=True,
        report_to="none",
    )
    trainer = transformers.Seq2SeqTrainer(
        model,
        arguments,
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model=model, pad_to_multiple_of=8),
        train_dataset=training,
        eval_dataset=held_out or None,
        processing_class=tokenizer,
    )
    trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
    return trainer


def _last_checkpoint(folder: Path) -> str | None:
    """Return the newest checkpoint that was written to its end: a kill may have come in the middle of one."""
    for path in sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        try:
            json.loads((path / _STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        return str(path)
    return None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what transformers and torch tell about their own workings from the user."""
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
