"""A tiny ColBERT in the format of the Stanford checkpoints, whose vectors say above all which word
a token is.

The weights are random. Word embeddings are large beside what the layers add, so that MaxSim
compares words, a little changed by their context and by the markers.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

WORDS = """the a an of in on at to and is are was were it its who what which where when how did does by for from with as not has
have had be been or this that he she they his her their born moved built opened closed sank raised lies stands large small old new
first last year city town river sea ship tower bridge museum capital ship warship harbour island north south east west people
anna berg oslo berlin paris rome vasa fram pisa stockholm sweden norway voyage degrees leans work years later known""".split()
POSITIONS = 64  # the most tokens that the model can read
DOCUMENT_LENGTH = 24  # the most that it was "trained" on
QUERY_LENGTH = 12


def write_colbert(folder: Path, *, seed: int = 0, dim: int = 64) -> Path:
    """Write a checkpoint as `colbert-ir/colbertv2.0` has it: BERT, `linear.weight`, a WordPiece
    vocabulary and settings.
    """
    import torch
    import transformers
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    pieces = [*string.ascii_lowercase, *string.digits, *string.punctuation]
    vocabulary = [
        "[PAD]",
        "[unused0]",
        "[unused1]",
        "[unused2]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    vocabulary += [*dict.fromkeys([*pieces, *WORDS]), *(f"##{piece}" for piece in pieces[:36])]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = transformers.BertTokenizer(
        str(folder / "vocab.txt"), do_lower_case=True, model_max_length=POSITIONS
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    sizes = {
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    sizes |= {"vocab_size": len(vocabulary), "max_position_embeddings": POSITIONS}
    config = transformers.BertConfig(architectures=["HF_ColBERT"], **sizes)
    model = transformers.BertModel(config).eval()
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.normal_(0, 1)
        weights = {f"bert.{name}": value.clone() for name, value in model.state_dict().items()}
        weights["linear.weight"] = torch.randn(dim, config.hidden_size)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config.save_pretrained(folder)
    settings = {
        "query_maxlen": QUERY_LENGTH,
        "doc_maxlen": DOCUMENT_LENGTH,
        "dim": dim,
        "mask_punctuation": True,
    }
    settings |= {
        "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]",
        "attend_to_mask_tokens": False,
    }
    (folder / "artifact.metadata").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def add_marker(folder: Path, target: Path) -> Path:
    """Write a copy of a checkpoint, in the library's own format, that has a second query marker."""
    from sentence_transformers import MultiVectorEncoder

    from factoid.training.rankers import model as training

    model = MultiVectorEncoder(str(folder), device="cpu")
    training.add_marker(model, "query_sentence")
    model.save_pretrained(str(target))
    return target
