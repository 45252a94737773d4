"""SpEL: structured prediction of entity links with a fine-tuned RoBERTa (Shavarani and Sarkar, 2023), from descriptions."""

from factoid.entities.spel.linker import SpELLinker
from factoid.entities.spel.model import convert_spel
from factoid.entities.spel.vocabulary import VocabularyFiles

__all__ = ["SpELLinker", "VocabularyFiles", "convert_spel"]
