"""Readers, which answer a question from the texts retrieved for it.

They are the readers of the papers (Dense X Retrieval, §4.4; Entity Retrieval, §4.1), any function
that completes a prompt, and a baseline that needs no model. The frameworks' models are
`langchain_factoid.ChatModelReader` and `llama_index_factoid.LLMReader`.
"""

from factoid.readers.causal_lm import CausalReader
from factoid.readers.extractive import ExtractiveReader
from factoid.readers.prompts import (
    document_text,
    fusion_prompt,
    normalize_question,
    question_prompt,
    unified_qa_prompt,
)
from factoid.readers.reader import LLMReader, Reader, clean_answer
from factoid.readers.seq2seq import FusionReader, Seq2SeqReader

__all__ = [
    "CausalReader",
    "ExtractiveReader",
    "FusionReader",
    "LLMReader",
    "Reader",
    "Seq2SeqReader",
    "clean_answer",
    "document_text",
    "fusion_prompt",
    "normalize_question",
    "question_prompt",
    "unified_qa_prompt",
]
