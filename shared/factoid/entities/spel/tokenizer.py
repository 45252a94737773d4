"""RoBERTa's fast tokenizer: from a file, from a folder, or by its name on the Hugging Face hub."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.errors import UnreadableFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER_FILE = "tokenizer.json"
_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")  # on the hub
_KNOWN = ("roberta-base", "roberta-large", "FacebookAI/roberta-base", "FacebookAI/roberta-large")  # the same two
_SPECIAL = {"<s>": 0, "<pad>": 1, "</s>": 2}  # where RoBERTa has them


def load_tokenizer(source: str | PathLike[str]) -> Tokenizer:
    """Return a tokenizer that puts <s> and </s> around a text, cuts nothing off and adds no space before it.

    Args:
        source: A tokenizer.json, a folder that holds one or vocab.json and merges.txt, or, as a string that is no path, a
            name on the hub, which is downloaded or taken from the hub's cache: "roberta-base", "roberta-large" or
            another "owner/name".

    Raises:
        UnreadableFileError: There is no tokenizer, or it is none of RoBERTa.
        MissingDependencyError: The package tokenizers is not installed.
    """
    library = require("tokenizers", extra="spel")
    path = Path(source)
    try:
        if path.is_dir():
            tokenizer = _of_folder(path, library)
        elif path.is_file():
            tokenizer = library.Tokenizer.from_file(str(path))
        elif isinstance(source, str) and _may_be_on_the_hub(source):
            tokenizer = library.Tokenizer.from_pretrained(source)
        else:
            message = (
                f"there is no file or folder {str(source)!r}: expected a tokenizer.json, a folder that holds one or vocab.json "
                f"and merges.txt, or one of these names on the Hugging Face hub: {', '.join(_KNOWN[:2])}, owner/name"
            )
            raise UnreadableFileError(message)
    except UnreadableFileError:
        raise
    except Exception as error:  # the library raises no other kind
        message = (
            f"cannot load the tokenizer {str(source)!r}: {str(error).partition(chr(10))[0]}. Expected a tokenizer.json, a "
            "folder with one or with vocab.json and merges.txt, or a name on the Hugging Face hub such as 'roberta-base'"
        )
        raise UnreadableFileError(message) from error
    found = {token: tokenizer.token_to_id(token) for token in _SPECIAL}
    if found != _SPECIAL:
        message = f"{str(source)!r} is no tokenizer of RoBERTa: expected the tokens {_SPECIAL}, got {found}"
        raise UnreadableFileError(message)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if tokenizer.encode("").ids != [0, 2]:
        message = f"{str(source)!r} does not put <s> and </s> around a text, as RoBERTa's tokenizer does"
        raise UnreadableFileError(message)
    return tokenizer  # type: ignore[no-any-return]


def _may_be_on_the_hub(source: str) -> bool:
    """Tell whether it is worth asking: a mistyped path is not."""
    owner, slash, _ = source.partition("/")
    return source in _KNOWN or bool(slash and _NAME.fullmatch(source) and not Path(owner).exists())


def _of_folder(folder: Path, library: Any) -> Any:
    if (folder / TOKENIZER_FILE).is_file():
        return library.Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    if not (vocabulary.is_file() and merges.is_file()):
        message = f"{folder} holds no tokenizer: expected {TOKENIZER_FILE}, or vocab.json and merges.txt"
        raise UnreadableFileError(message)
    model = library.models.BPE.from_file(str(vocabulary), str(merges), unk_token="<unk>")  # noqa: S106  no password
    tokenizer = library.Tokenizer(model)
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.post_processor = library.processors.RobertaProcessing(
        ("</s>", _SPECIAL["</s>"]), ("<s>", _SPECIAL["<s>"]), trim_offsets=True, add_prefix_space=False
    )
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", library.AddedToken("<mask>", lstrip=True)])
    return tokenizer
