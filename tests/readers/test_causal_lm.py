from __future__ import annotations

import pytest

from factoid.readers.causal_lm import CausalReader
from factoid.readers.prompts import question_prompt
from factoid.readers.reader import Reader, clean_answer
from factoid.errors import InvalidInputError

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
        config = transformers.GPT2Config(
            n_positions=positions, n_embd=32, n_layer=2, n_head=2, **options
        )
        return transformers.GPT2LMHeadModel(config).eval()
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = transformers.LlamaConfig(
        max_position_embeddings=positions, pad_token_id=None, **sizes, **options
    )
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
            written.append(
                int(model(input_ids=torch.tensor([tokens + written])).logits[0, -1].argmax())
            )
    return clean_answer(tokenizer.decode(written, skip_special_tokens=True))


def test_a_folder_answers_as_the_model_that_was_saved_in_it(folder):
    reader, model = CausalReader(folder), untrained("gpt2")
    assert isinstance(reader, Reader)
    for context in ((), DOCUMENT, SEVERAL):
        assert (
            reader.read("which river?", context)
            == greedy(model, question_prompt("which river?", context))
            != ""
        )
    short = CausalReader(str(folder), max_new_tokens=4).read("which river?")
    assert short == greedy(model, question_prompt("which river?"), 4)


@pytest.mark.parametrize(("kind", "batch_size"), [("llama", 3), ("gpt2", 8)])
def test_batches_of_any_size_answer_as_a_greedy_loop_does(kind, batch_size):
    model, tokenizer = untrained(kind), byte_tokenizer()
    assert tokenizer.pad_token_id is None
    questions = [f"{'what ' * (index % 4)}is {index}?" for index in range(7)]
    contexts = [["word " * (5 * index)] * (index % 3) for index in range(7)]
    expected = [
        greedy(model, question_prompt(*pair)) for pair in zip(questions, contexts, strict=True)
    ]
    assert len(set(expected)) > 3
    # What checkpoints of chat models bring along has no part in it.
    chatty = {
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 5,
        "repetition_penalty": 1.5,
    }
    model.generation_config.update(**chatty)
    reader = CausalReader(model, tokenizer, batch_size=batch_size)
    assert reader.read_batch(questions, contexts) == expected
    assert [reader.read(*pair) for pair in zip(questions, contexts, strict=True)] == expected
    assert tokenizer.pad_token_id is None
    assert reader.read_batch([], []) == []


def test_a_long_prompt_is_cut_from_the_left():
    model = untrained("gpt2", positions=120)
    documents = [DOCUMENT, "Lyon lies on the Rhone, " * 30]
    cut = question_prompt("which river?", documents)[-110:]
    assert (
        CausalReader(model, byte_tokenizer()).read("which river?", documents)
        == greedy(model, cut)
        != ""
    )


def test_what_cannot_be(tmp_path):
    with pytest.raises(InvalidInputError, match="cannot load the reader"):
        CausalReader(tmp_path).read("which river?")
    for name in ("max_new_tokens", "batch_size"):
        with pytest.raises(InvalidInputError, match=f"{name} must be at least 1, got 0"):
            CausalReader(untrained(), byte_tokenizer(), **{name: 0})
