"""Training of a propositionizer of one's own (Dense X Retrieval, §3 and Appendix B)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.propositions.flan_t5 import FlanT5Propositionizer
from factoid.propositions.protocol import Propositionizer
from factoid.propositions.score import PropositionF1, Similarity, TokenF1, corpus_f1
from factoid.propositions.training.seeds import SeedPair, split_held_out
from factoid.propositions.training.training_record import TrainingRecord, TrainingSettings, read_record, write_record

__all__ = ["TrainingRecord", "TrainingSettings", "evaluate_propositionizer", "train_propositionizer"]


def train_propositionizer(
    pairs: Sequence[SeedPair],
    output: str | os.PathLike[str],
    *,
    settings: TrainingSettings | None = None,
    held_out: int = 1000,
    similarity: Similarity | None = None,
    dropped: Mapping[str, int] | None = None,
    use_cpu: bool = False,
    show_progress: bool = False,
) -> TrainingRecord:
    """Fine-tune a seq2seq model on pairs. `FlanT5Propositionizer(output)` loads what comes out.

    The model learns to answer `passage_input` with the JSON list of propositions. Ctrl-C and SIGTERM end the run after
    the step in hand with a checkpoint. The same call made again goes on from the last checkpoint, as it does after a
    kill; once the training is finished it returns the record. Checkpoints go when the model is written.

    Args:
        pairs: Pairs, as `make_seeds` or `read_pairs` give them.
        output: Folder for the model, its tokenizer, a model card and training.json.
        settings: None for the paper's.
        held_out: About how many pairs to evaluate on, of documents that are not trained on: a tenth of all at most.
        similarity: What proposition-set F1 is measured with; None for `TokenF1`. The paper's is `BERTScore()`.
        dropped: Counts to report beside those of pairs that are left out here, as `Seeds` has them.
        use_cpu: Leave GPUs alone. Otherwise CUDA is used where it is there, in bfloat16 where it computes in that.
        show_progress: Show progress bars.

    Raises:
        InvalidInputError: Too few pairs, or the folder holds a training with other pairs or settings.
        PropositionizerError: The model cannot be loaded, or the device's memory does not suffice.
        MissingDependencyError: torch, transformers or accelerate is not installed.
        KeyboardInterrupt: The run was ended by Ctrl-C or SIGTERM.
    """
    for module in ("torch", "transformers", "accelerate"):
        require(module, extra="train")
    from factoid.propositions.training.fine_tune import (  # its callbacks are classes of transformers
        Run,
        fine_tune,
        quiet,
    )

    settings = settings or TrainingSettings()
    similarity = similarity or TokenF1()
    folder = Path(output)
    training, held = split_held_out(pairs, held_out)
    identity = _checksum(training, held)
    record = read_record(folder)
    if record is None:
        run = Run(folder, settings, identity, training, held, dict(dropped or {}))
        record = fine_tune(run, use_cpu=use_cpu, show_progress=show_progress)
        write_record(folder, record)
    elif settings.comparable() != record.settings.comparable() or record.pairs != identity:
        message = f"{folder} holds a model that was trained with other pairs or settings: choose another folder"
        raise InvalidInputError(message)
    name = str(getattr(similarity, "name", type(similarity).__name__))
    if held and record.similarity != name:
        device = "cpu" if use_cpu else None
        model = FlanT5Propositionizer(folder, engine="transformers", device=device, show_progress=show_progress)
        with quiet():
            record = replace(record, score=evaluate_propositionizer(model, held, similarity), similarity=name)
        write_record(folder, record)
    return record


def evaluate_propositionizer(
    propositionizer: Propositionizer, pairs: Sequence[SeedPair], similarity: Similarity
) -> PropositionF1:
    """Return how near a propositionizer comes to the propositions of pairs: the mean F1 of Appendix B.

    Raises:
        InvalidInputError: There are no pairs.
    """
    outputs = propositionizer.propositionize([pair.passage for pair in pairs])
    return corpus_f1(outputs, [pair.propositions for pair in pairs], similarity)


def _checksum(training: Sequence[SeedPair], held_out: Sequence[SeedPair]) -> str:
    digest = hashlib.sha256()
    for side in (training, held_out):
        for pair in side:
            passage = pair.passage
            values = [passage.document_id, passage.title, passage.section, passage.text, *pair.propositions]
            digest.update(json.dumps(values).encode() + b"\n")
        digest.update(b"\n")
    return digest.hexdigest()
