from __future__ import annotations

import re
import shutil
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.causal_lm import TransformersReader, shorten
from factoid.entities.prompts import question_prompt
from factoid.entities.reader import Reader, clean_answer
from factoid.errors import InvalidInputError, UnreadableFileError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402

DOCUMENT = "Rouen lies on the Seine."
SEVERAL = [DOCUMENT, "Lyon lies on the Rhone."]


def byte_tokenizer(**options):
    """Make a tokenizer without a pad token: each byte is a token."""
    alphabet = ["<end>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({char: number for number, char in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    options |= {"eos_token": "<end>", "clean_up_tokenization_spaces": False}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options)


def untrained(kind="llama", *, positions=512):
    torch.manual_seed(0)
    options = {"vocab_size": 257, "bos_token_id": None, "eos_token_id": 0, "initializer_range": 0.5}
    if kind == "gpt2":  # learned positions: padding shows if it is counted
        config = transformers.GPT2Config(n_positions=positions, n_embd=32, n_layer=2, n_head=2, **options)
        return transformers.GPT2LMHeadModel(config).eval()
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.LlamaConfig(max_position_embeddings=positions, pad_token_id=None, **sizes, **options)
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader")
    untrained("gpt2").save_pretrained(path)
    byte_tokenizer().save_pretrained(path)
    return path


def greedy(model, prompt, steps=10):
    """One prompt, no padding, no cache."""
    tokenizer = byte_tokenizer()
    tokens, written = tokenizer(prompt)["input_ids"], []
    while len(written) < steps and 0 not in written:
        with torch.no_grad():
            written.append(int(model(input_ids=torch.tensor([tokens + written])).logits[0, -1].argmax()))
    return clean_answer(tokenizer.decode(written, skip_special_tokens=True), skip_empty=False)


def test_a_folder_answers_as_the_model_that_was_saved_in_it(folder):
    reader, model = TransformersReader(folder), untrained("gpt2")
    assert isinstance(reader, Reader)
    for context in ((), DOCUMENT, SEVERAL):
        assert reader.read("which river?", context) == greedy(model, question_prompt("which river?", context)) != ""
    short = TransformersReader(str(folder), max_new_tokens=4).read("which river?")
    assert short == greedy(model, question_prompt("which river?"), 4)


@pytest.mark.parametrize(
    ("written", "options", "answer"),
    [(' "Seine"\n\n', {}, "Seine"), ("\n Rhone", {}, ""), ("\n Rhone", {"skip_empty": True}, "Rhone")],
)
def test_the_answer_is_the_first_line_even_if_it_is_empty(monkeypatch, written, options, answer):
    model, tokenizer = untrained(), byte_tokenizer()
    tokens = tokenizer(written, return_tensors="pt")["input_ids"]
    monkeypatch.setattr(model, "generate", lambda input_ids, **_: torch.cat([input_ids, tokens], 1), raising=False)
    assert TransformersReader(model, tokenizer, **options).read("which river?") == answer


@pytest.mark.parametrize(("kind", "batch_size"), [("llama", 3), ("gpt2", 8)])
def test_batches_of_any_size_answer_as_a_greedy_loop_does(kind, batch_size):
    model, tokenizer = untrained(kind), byte_tokenizer()
    assert tokenizer.pad_token_id is None
    questions = [f"{'what ' * (index % 4)}is {index}?" for index in range(7)]
    contexts = [["word " * (5 * index)] * (index % 3) for index in range(7)]
    expected = [greedy(model, question_prompt(*pair)) for pair in zip(questions, contexts, strict=True)]
    assert len(set(expected)) > 3
    # What checkpoints of chat models bring along has no part in it.
    chatty = {"do_sample": True, "temperature": 0.7, "top_p": 0.9, "top_k": 5, "repetition_penalty": 1.5}
    model.generation_config.update(**chatty, no_repeat_ngram_size=2, max_length=20)
    reader = TransformersReader(model, tokenizer, batch_size=batch_size)
    assert reader.read_batch(questions, contexts) == expected
    assert [reader.read(*pair) for pair in zip(questions, contexts, strict=True)] == expected
    assert tokenizer.pad_token_id is None
    assert reader.read_batch([], []) == []


def test_a_reader_samples_as_the_checkpoint_says_where_it_is_told_to():
    model, tokenizer = untrained(), byte_tokenizer()
    model.generation_config.update(do_sample=True, temperature=2.0, top_k=0)
    reader = TransformersReader(model, tokenizer, decoding="checkpoint", skip_empty=True)
    prompt = torch.tensor([tokenizer(question_prompt("which river?"))["input_ids"]])
    answers = set()
    for seed in range(4):
        torch.manual_seed(seed)
        answer = reader.read("which river?")
        torch.manual_seed(seed)
        [tokens] = model.generate(prompt, max_new_tokens=10, pad_token_id=0)
        assert answer == clean_answer(tokenizer.decode(tokens[prompt.shape[1] :], skip_special_tokens=True))
        answers.add(answer)
    assert len(answers) > 1


LONG = [DOCUMENT, "Lyon lies on the Rhone, " * 30]


def asked(monkeypatch, reader, documents):
    """Return the prompt that a model of bytes gets."""
    generate = Mock(wraps=reader.model.generate)
    monkeypatch.setattr(reader.model, "generate", generate, raising=False)
    reader.read("which river?", documents)
    return reader.tokenizer.decode(generate.call_args.kwargs["input_ids"][0])


def test_a_long_prompt_is_cut_from_the_left(monkeypatch, caplog):
    reader = TransformersReader(untrained("gpt2", positions=120), byte_tokenizer())
    assert asked(monkeypatch, reader, LONG) == question_prompt("which river?", LONG)[-110:]
    assert "cut to its last 110: 'which river?'" in caplog.text


@pytest.mark.parametrize("stated", ["positions", "tokenizer", "option"])
def test_documents_are_shortened_and_questions_are_not(monkeypatch, stated, caplog):
    model = untrained("gpt2", positions=120 if stated == "positions" else 512)
    tokenizer = byte_tokenizer(**({"model_max_length": 120} if stated == "tokenizer" else {}))
    limit = 120 if stated == "option" else None
    reader = TransformersReader(model, tokenizer, truncate="documents", max_length=limit)
    used = asked(monkeypatch, reader, LONG)
    assert used.startswith(f"{DOCUMENT}\n\nLyon")
    assert used.endswith("\n\nBased on these texts, answer this question:\nQ: which river?\nA:")
    assert 100 < len(used) <= 110  # 120 positions, 10 of them for the answer, and cut between words
    reader.read("which river?", ["short"])
    [record] = caplog.records
    assert re.fullmatch(r"documents shortened to \d\d characters: 'which river\?'", record.getMessage())


def test_a_question_that_is_too_long():
    reader = TransformersReader(untrained(positions=64), byte_tokenizer())
    with pytest.raises(InvalidInputError, match=r"prompt of 10028 tokens, and the model takes 54 before"):
        reader.read("w" * 10_000, ["text"])
    reader.max_new_tokens = 80
    with pytest.raises(InvalidInputError, match="takes 0 before an answer of 80"):
        reader.read("w")


def cut(documents, limit):
    return shorten(documents, lambda texts: sum(map(len, texts)) <= limit)


@given(st.lists(st.text(st.sampled_from("ab \n漢"), max_size=30), max_size=4), st.integers(0, 60))
def test_shortening_keeps_a_beginning_that_fits(documents, limit):
    shortened = cut(documents, limit)
    assert sum(map(len, shortened)) <= limit
    assert "\0".join(documents).startswith("\0".join(shortened))
    if sum(map(len, documents)) <= limit:
        assert "".join(shortened).split() == "".join(documents).split()


def test_cuts_are_between_words_where_there_are_some():
    assert cut(["the river Seine"], 13) == ["the river"]
    assert cut(["漢字漢字"], 3) == ["漢字漢"]
    assert cut(["a " + "b" * 100], 90) == ["a " + "b" * 50]
    assert cut(["abc", "def"], 3) == ["abc"]


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_damaged_files(folder, tmp_path, name):
    path = shutil.copytree(folder, tmp_path / "copy") / name
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(UnreadableFileError, match=r"copy' as a causal language model: .* get it again") as caught:
        TransformersReader(path.parent).read("which river?")
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({name: 0}, f"{name} must be at least 1, got 0") for name in ("max_new_tokens", "max_length", "batch_size")),
        *(({name: "middle"}, f"{name} must be one of .*, got 'middle'") for name in ("decoding", "truncate")),
        ({"tokenizer": None}, "needs its tokenizer"),
        ({"device": "cuda:99"}, "expected a device that PyTorch can use here"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(InvalidInputError, match=message):
        TransformersReader(**{"model": untrained(), "tokenizer": byte_tokenizer(), **options}).read("which river?")
