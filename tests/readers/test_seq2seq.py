"""Encoder-decoder readers against a model run by hand, token by token."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from factoid.errors import InvalidInputError
from factoid.readers import FusionReader, Reader, Seq2SeqReader, fusion_prompt, unified_qa_prompt
from factoid.readers.reader import clean_answer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.tiny_t5 import write_untrained  # noqa: E402

QUESTIONS = ["Which river is grey?", "Who built it?", "When did the tower lean?"]
CONTEXTS = [["The Arve is grey.", "The Rhone is blue."], "A mason built the tower.", ()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    texts = [
        *QUESTIONS,
        "The Arve is grey. The Rhone is blue. A mason built the tower. question: context: \\n",
    ]
    folder = write_untrained(
        tmp_path_factory.mktemp("t5"), [text.lower() for text in texts], limit=64
    )
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:  # so that what is written depends on what is read
                weight.normal_(0, 0.9 if "EncDecAttention" in name else 0.3)
        model.shared.weight.normal_(0, 1)
        model.lm_head.weight[:3] = 0  # and is not over at once
    model.save_pretrained(folder)
    return folder


def by_hand(folder, inputs, limit=64, steps=20):
    """Encode each input alone, put their vectors behind each other, and take the likeliest tokens
    one by one.
    """
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    states = []
    with torch.no_grad():
        for text in inputs:
            ids = tokenizer(text, truncation=True, max_length=limit, return_tensors="pt")[
                "input_ids"
            ]
            states.append(model.encoder(input_ids=ids).last_hidden_state)
        joined, written = torch.cat(states, dim=1), [0]
        for _ in range(steps):
            outputs = model.decoder(input_ids=torch.tensor([written]), encoder_hidden_states=joined)
            state = outputs.last_hidden_state[0, -1]
            if model.config.tie_word_embeddings:
                state = state * model.config.d_model**-0.5
            written.append(int(model.lm_head(state).argmax()))
            if written[-1] == model.config.eos_token_id:
                break
    return clean_answer(tokenizer.decode(written, skip_special_tokens=True))


def test_a_question_and_its_texts_are_one_input(folder):
    reader = Seq2SeqReader(folder, device="cpu", batch_size=2)
    assert isinstance(reader, Reader)
    expected = [
        by_hand(folder, [unified_qa_prompt(*pair)])
        for pair in zip(QUESTIONS, CONTEXTS, strict=True)
    ]
    assert len(set(expected)) == 3
    assert reader.read_batch(QUESTIONS, CONTEXTS) == expected  # padding changes nothing
    assert [reader.read(*pair) for pair in zip(QUESTIONS, CONTEXTS, strict=True)] == expected
    assert reader.read_batch([], []) == []


def test_a_long_input_loses_its_last_words(folder):
    context = "the arve is grey. " * 40
    reader = Seq2SeqReader(str(folder), device="cpu")
    assert reader.read(QUESTIONS[0], context) == by_hand(
        folder, [unified_qa_prompt(QUESTIONS[0], context)]
    )


def test_the_decoder_reads_passages_that_were_encoded_apart(folder):
    passages = [
        "The Arve is grey.",
        "The Rhone is blue.",
        "A mason built the tower in the town of Pisa long ago.",
    ]
    inputs = [fusion_prompt(QUESTIONS[0], passage) for passage in passages]
    reader = FusionReader(folder, device="cpu")
    assert isinstance(reader, Reader)
    assert reader.read(QUESTIONS[0], passages) == by_hand(folder, inputs)
    assert reader.read(QUESTIONS[0], [*passages[:2], " "]) == by_hand(
        folder, inputs[:2]
    )  # padding is not attended to
    assert reader.read(QUESTIONS[0]) == by_hand(folder, [fusion_prompt(QUESTIONS[0])])
    assert FusionReader(folder, device="cpu", passages=1).read(QUESTIONS[0], passages) == by_hand(
        folder, inputs[:1]
    )
    short = FusionReader(folder, device="cpu", passage_tokens=8).read_batch(
        QUESTIONS[:1], [passages]
    )
    assert short == [by_hand(folder, inputs, limit=8)]


def test_fusion_is_not_concatenation(folder):
    passages = ["The Arve is grey.", "The Rhone is blue."]
    fused = [
        by_hand(folder, [fusion_prompt(question, passage) for passage in passages])
        for question in QUESTIONS
    ]
    joined = [
        by_hand(folder, [fusion_prompt(question, " ".join(passages))]) for question in QUESTIONS
    ]
    assert fused != joined


def test_inputs_of_models():
    assert (
        unified_qa_prompt("Who  built IT?", ["A Mason\nbuilt", " ", "it."])
        == "who built it? \\n a mason built it."
    )
    assert unified_qa_prompt("Who?") == "who?"
    assert fusion_prompt("Who?", "A  mason.") == "question: Who? context: A mason."
    assert (
        fusion_prompt("Who?", "title: Pisa context: A mason.")
        == "question: Who? title: Pisa context: A mason."
    )
    for prompt in (unified_qa_prompt, fusion_prompt):
        with pytest.raises(InvalidInputError, match="a question that is not blank"):
            prompt(" ", "A mason.")


def test_threads_take_turns_and_errors_name_the_model(folder):
    reader, answers = FusionReader(folder, device="cpu"), []
    threads = [
        Thread(target=lambda: answers.append(reader.read(QUESTIONS[0], CONTEXTS[0])))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert len(set(answers)) == 1
    with pytest.raises(InvalidInputError, match="cannot load the reader 'nowhere/none'"):
        Seq2SeqReader(Path("nowhere/none")).read("Who?")
    with pytest.raises(InvalidInputError, match="passages"):
        FusionReader(folder, passages=0)
