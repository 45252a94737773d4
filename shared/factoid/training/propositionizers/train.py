"""Train your own propositionizer (Dense X Retrieval, §3 and Appendix B)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.files.atomic import write_file
from factoid.propositions.flan_t5 import FlanT5Propositionizer
from factoid.propositions.protocol import Propositionizer
from factoid.propositions.score import PropositionF1, Similarity, TokenF1, corpus_f1
from factoid.training.propositionizers.seeds import SeedPair
from factoid.training.propositionizers.settings import TrainingSettings

RECORD = "training.json"


def train_propositionizer(
    pairs: Sequence[SeedPair],
    output: str | os.PathLike[str],
    *,
    settings: TrainingSettings | None = None,
    held_out: int = 1000,
    similarity: Similarity | None = None,
    dropped: Mapping[str, int] | None = None,
    use_cpu: bool = False,
    progress: bool = False,
) -> dict[str, Any]:
    """Fine-tune a seq2seq model on pairs. `FlanT5Propositionizer(output)` loads the result.

    The model learns to answer `passage_input` with the JSON list of propositions. After an
    interrupt or a kill, the same call resumes from the last checkpoint. Checkpoints are deleted
    when the training is finished.

    Args:
        pairs: Pairs, as `make_seeds` or `read_pairs` return them.
        output: Folder for the model, its tokenizer and training.json.
        settings: Settings; None for the paper's.
        held_out: Approximate number of pairs to evaluate on, from documents not trained on: at most
            a tenth of all.
        similarity: Similarity used by proposition-set F1; None for `TokenF1`.
        dropped: Counts to report beside those of pairs left out here, as in `Seeds`.
        use_cpu: Do not use GPUs. Otherwise CUDA is used if available, in bfloat16 if supported.
        progress: Show progress bars.

    Returns:
        What training.json holds: settings, version, the `propositionizers` that wrote the pairs,
        `training_pairs` and `held_out_pairs`, passages and pairs `dropped` by reason, `steps`, the
        `log` of the trainer with its losses, and `score`: proposition-set F1 on the held-out pairs
        by `similarity`, None without any.

    Raises:
        InvalidInputError: There are too few pairs, or the folder holds a finished model.
        PropositionizerError: The model cannot be loaded.
        MissingDependencyError: torch, transformers or accelerate is not installed.
    """
    for module in ("torch", "transformers", "accelerate"):
        require(module, extra="train")
    from factoid.training.propositionizers.fine_tune import CHECKPOINTS, fine_tune

    settings = settings or TrainingSettings()
    similarity = similarity or TokenF1()
    folder = Path(output)
    check_unfinished(folder)
    training, evaluation = split_held_out(pairs, held_out)
    record = fine_tune(folder, training, evaluation, settings, use_cpu=use_cpu, progress=progress)
    record["dropped"] = dict(sorted((Counter(record["dropped"]) + Counter(dropped or {})).items()))
    record["propositionizers"] = sorted(
        {pair.propositionizer for pair in training if pair.propositionizer}
    )
    score = None
    if evaluation:
        device = "cpu" if use_cpu else None
        model = FlanT5Propositionizer(
            folder, engine="transformers", device=device, progress=progress
        )
        score = asdict(evaluate_propositionizer(model, evaluation, similarity))
    record |= {"score": score, "similarity": getattr(similarity, "name", type(similarity).__name__)}
    return finish(folder, {"settings": asdict(settings), **record}, folder / CHECKPOINTS)


def check_unfinished(folder: Path) -> None:
    """Reject a folder that holds a finished training."""
    if (folder / RECORD).exists():
        raise InvalidInputError(f"{folder} holds a finished model: choose another folder")


def finish(folder: Path, record: dict[str, Any], checkpoints: Path) -> dict[str, Any]:
    """Write the record of a training, delete the checkpoints, return the record.

    The record makes the folder complete.
    """
    record = {"factoid": version("factoid"), **record}
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    write_file(folder / RECORD, lambda file: file.write(text.encode()))
    shutil.rmtree(checkpoints)
    return record


def split_held_out(pairs: Sequence[SeedPair], count: int) -> tuple[list[SeedPair], list[SeedPair]]:
    """Return pairs for training, and about `count` of other documents.

    Those are for evaluation, and at most a tenth of all.

    Raises:
        InvalidInputError: There are no pairs for training, or all come from one document and some
            should be held out.
    """
    sizes = Counter(pair.passage.document_id for pair in pairs)
    if not sizes or (count > 0 and len(sizes) == 1):
        problem = (
            "expected pairs of two documents at least, one of them to be held out, got those of "
            f"{len(sizes)}"
        )
        raise InvalidInputError(f"{problem}: give more documents, or hold out 0")
    count = min(count, max(len(pairs) // 10, 1))
    held_out: set[str] = set()
    for document_id in sorted(
        sizes, key=lambda document_id: hashlib.sha256(document_id.encode()).digest()
    )[:-1]:
        if count > 0:
            held_out.add(document_id)
            count -= sizes[document_id]
    training = []
    for pair in pairs:
        if pair.passage.document_id not in held_out:
            training.append(pair)
    return training, [pair for pair in pairs if pair.passage.document_id in held_out]


def evaluate_propositionizer(
    propositionizer: Propositionizer, pairs: Sequence[SeedPair], similarity: Similarity
) -> PropositionF1:
    """Return how close a propositionizer's output is to the propositions of pairs.

    The mean F1 of Appendix B.
    """
    outputs = propositionizer.propositionize([pair.passage for pair in pairs])
    return corpus_f1(outputs, [pair.propositions for pair in pairs], similarity)
