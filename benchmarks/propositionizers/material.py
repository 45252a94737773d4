"""What the contestants are given: passages, targets that copy them, and checkpoints of real
architecture.
"""

from __future__ import annotations

import json
from operator import itemgetter
from pathlib import Path

from benchmarks.data import DATA
from factoid import Document, Granularity, SyntaxPropositionizer, Unit
from factoid.propositions.prompting.prompt import passage_input

ROOT = Path(__file__).resolve().parents[2]
SQUAD = DATA / "squad-v1.1-dev"
ENCYCLOPEDIA = ROOT / "examples" / "data" / "encyclopedia"

SIZES = {
    "tiny": {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4},
    "base": {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_heads": 12},
    "large": {"d_model": 1024, "d_kv": 64, "d_ff": 2816, "num_layers": 24, "num_heads": 16},
}
VOCABULARY = 32_128  # of Flan-T5: the head is a tenth of the work


def read_texts(path: Path | None) -> list[str]:
    """Return paragraphs of a SQuAD file or folder, of text files, or of the examples'
    encyclopedia.
    """
    path = path or (SQUAD if SQUAD.is_dir() else ENCYCLOPEDIA)
    texts = []
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.suffix == ".json":
            for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
                texts += map(itemgetter("context"), article["paragraphs"])
        elif file.name != "SOURCE.md":
            paragraphs = file.read_text(encoding="utf-8").split("\n\n")
            texts += [text for text in paragraphs if not text.startswith("#")]
    if not texts:
        raise SystemExit(
            f"{path} holds no paragraphs: give a SQuAD file, a text file or a folder of them"
        )
    return texts


def passages(texts: list[str], count: int, words: int) -> list[Unit]:
    """Return passages of exactly this many words, evenly spread over the texts, again from the
    start if they run out.
    """
    running = " ".join(texts).split()
    starts = range(0, len(running) - words, words)
    step = max(1, len(starts) // count)
    chosen = [starts[at * step % len(starts)] for at in range(count)]
    return [unit(" ".join(running[start : start + words])) for start in chosen]


def unit(text: str) -> Unit:
    document = Document(text, title="Passage")
    return Unit(
        "",
        text,
        Granularity.PASSAGE,
        document_id=document.id,
        parent_id=document.id,
        start=0,
        end=len(text),
        title=document.title,
    )


def make_checkpoint(folder: Path, size: str, texts: list[str]) -> None:
    """Write a Flan-T5 with random weights, and a tokenizer trained on the texts as a
    Propositionizer meets them.
    """
    import tokenizers
    import torch
    import transformers

    trained = tokenizers.Tokenizer(tokenizers.models.Unigram())
    split = tokenizers.pre_tokenizers
    trained.pre_tokenizer = split.Sequence([split.WhitespaceSplit(), split.Metaspace()])
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=8000 if size != "tiny" else 2000,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    lists = [json.dumps(text.split(". "), ensure_ascii=False) for text in texts]
    inputs = [passage_input(unit(""))] * len(texts)
    trained.train_from_iterator([*texts, *lists, *inputs], trainer)
    vocab = list(map(tuple, json.loads(trained.to_str())["model"]["vocab"]))
    transformers.T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=512).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=VOCABULARY if size != "tiny" else len(vocab),
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        **SIZES[size],
    )
    model = transformers.T5ForConditionalGeneration(config)
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight) * 0.03)
    model.save_pretrained(folder)


def targets(tokenizer: object, given: list[Unit], tokens: int) -> list[list[int]]:
    """Return for each passage what *syntax* makes of it, as a JSON list, in exactly this many
    tokens.

    A list that is too short is followed by itself from its start, which happens to few of them.
    """
    found = []
    for propositions in SyntaxPropositionizer().propositionize(given):
        text = json.dumps(propositions, ensure_ascii=False)
        ids = tokenizer(text)["input_ids"][:-1]  # type: ignore[operator]
        found.append((ids * (1 + tokens // max(1, len(ids))))[:tokens])
    return found
