"""A seq2seq checkpoint from the Hugging Face hub or a folder.

Its tokenizer, its model, and its identity.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from factoid._optional import require
from factoid.errors import PropositionizerError

_CONFIGS = ("config.json", "generation_config.json")
_WRITERS = ("transformers_version", "_name_or_path")  # keys that say who wrote a file of settings

_T5_TOKENS = 512  # what T5 was trained on; used if neither model nor tokenizer states a limit


class Checkpoint(NamedTuple):
    """Name on the hub or folder, and branch, tag or commit of a model on the hub.

    Methods that load raise `PropositionizerError` if they cannot.
    """

    name: str
    revision: str | None

    def tokenizer(self) -> Any:
        """Load the tokenizer."""
        return self._load("AutoTokenizer")

    def config(self) -> Any:
        """Load the configuration."""
        return self._load("AutoConfig")

    def model(self, dtype: Any) -> Any:
        """Load the model in evaluation mode, with weights in a torch dtype."""
        return self._load("AutoModelForSeq2SeqLM", dtype=dtype).eval()

    def limit(self, config: Any, tokenizer: Any) -> int:
        """Return the maximum number of tokens of an input."""
        sizes = [getattr(config, name, None) for name in ("n_positions", "max_position_embeddings")]
        sizes.append(tokenizer.model_max_length)  # 1e30 if it has no limit
        return min((int(size) for size in sizes if size and size < 1e9), default=_T5_TOKENS)

    def folder(self) -> Path:
        """Return the folder of the files; files from the hub are in its cache, by commit."""
        if Path(self.name).is_dir():
            return Path(self.name)
        with self._loading():
            cached = require("transformers.utils", extra="models").cached_file
            return Path(cached(self.name, "config.json", revision=self.revision)).parent

    def identity(self) -> str:
        """Return the commit of a model on the hub, or the fingerprint of a folder.

        A branch of the hub may move.
        """
        folder = self.folder()
        if folder == Path(self.name):
            return _fingerprint(folder)
        return folder.name

    def label(self) -> str:
        """Return the name and commit of a model on the hub.

        For a folder what its files are, wherever it lies.
        """
        identity = self.identity()
        if Path(self.name).is_dir():
            return f"weights {identity}"
        return f"{self.name}@{identity}"

    def _load(self, kind: str, **options: Any) -> Any:
        with self._loading():
            auto = getattr(require("transformers", extra="models"), kind)
            return auto.from_pretrained(self.name, revision=self.revision, **options)

    @contextmanager
    def _loading(self) -> Iterator[None]:
        damaged = require("safetensors", extra="models").SafetensorError
        try:
            yield
        except (OSError, ValueError, RuntimeError, damaged) as error:
            at = f" at revision {self.revision!r}" if self.revision else ""
            raise PropositionizerError(
                f"cannot load the seq2seq model {self.name!r}{at}: "
                f"{str(error).strip().partition(chr(10))[0]} Expected a model of the Hugging Face "
                "hub (its first use downloads it; without network, run `hf download` on a "
                "machine that has one and pass the folder), or a folder as save_pretrained "
                "writes it"
            ) from error


def _fingerprint(folder: Path) -> str:
    """Return twelve hexadecimal digits that change with the model.

    The folder's name, its dates and the pages about it do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(
        path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")
    ):
        if path.suffix == ".md" or path.name == "training_args.bin":
            continue
        if path.name in _CONFIGS:
            content = hashlib.sha256(_settings(path)).hexdigest()
        else:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.name} {content} ".encode())
    return digest.hexdigest()[:12]


def _settings(path: Path) -> bytes:
    """Return what a file of settings says, without who wrote it and where from."""
    content = path.read_bytes()
    try:
        settings = json.loads(content)
    except ValueError:
        return content  # loading the model will report it
    if not isinstance(settings, dict):
        return content
    said = {}
    for key, value in settings.items():
        if key not in _WRITERS:
            said[key] = value
    return json.dumps(said, sort_keys=True).encode()
