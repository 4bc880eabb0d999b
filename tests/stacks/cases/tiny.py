"""Tiny language models, rows and Trainers of sums such as "2 + 3"; made here, nothing is loaded."""

import dataclasses
import inspect
import tempfile
from collections.abc import Callable

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Trainer,
    TrainingArguments,
)

NUM_ROWS = 16
SPECIAL = ("<pad>", "<eos>", "<unk>", "<bos>")
WORDS = (*SPECIAL, *"QA:", *map(str, range(20)), *"+=?.,ab")
PAD, EOS, IGNORED = 0, 1, -100
ARGUMENTS = {
    "per_device_train_batch_size": 4,
    "max_steps": 4,
    "logging_steps": 1,
    "learning_rate": 1e-3,
    "lr_scheduler_type": "constant",
    "report_to": [],
    "save_strategy": "no",
    "use_cpu": True,
    "bf16": False,
    "fp16": False,
    "gradient_checkpointing": False,
    "disable_tqdm": True,
    "max_length": 24,
    "max_seq_length": 24,
    "max_prompt_length": 12,
    "seed": 0,
}


def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each word, which blanks part."""
    words = models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    inner = Tokenizer(words)
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    inputs = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_input_names=inputs, **names)


def language_model(seed: int = 0) -> Qwen2ForCausalLM:
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=None,
    )
    model = Qwen2ForCausalLM(config)
    model.generation_config.pad_token_id, model.generation_config.eos_token_id = PAD, EOS
    return model


def broken_model() -> Qwen2ForCausalLM:
    """A model with one weight that is not a number."""
    model = language_model()
    with torch.no_grad():
        next(model.parameters())[0, 0] = float("nan")
    return model


def sums() -> list[tuple[str, int]]:
    """Prompts, and the right number."""
    numbers = [(i % 9, i * 5 % 9) for i in range(NUM_ROWS)]
    return [(f"Q : {a} + {b} = ?", a + b) for a, b in numbers]


def rows() -> list[dict]:
    """Token ids of each sum and its answer; only the answer is learned."""
    encode = tokenizer()
    found = []
    for question, number in sums():
        prompt = encode(question)["input_ids"]
        answer = [*encode(f"A : {number}")["input_ids"], EOS]
        ids, labels = prompt + answer, [IGNORED] * len(prompt) + answer
        found.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels})
    return found


def collated(rows: list[dict], *, is_masked: bool = False) -> dict:
    """One padded batch; `is_masked` ignores every label, as a wrong response template does."""
    length = max(len(row["input_ids"]) for row in rows)
    filled = {"input_ids": PAD, "attention_mask": 0, "labels": IGNORED}
    batch = {
        name: torch.tensor([row[name] + [fill] * (length - len(row[name])) for row in rows])
        for name, fill in filled.items()
    }
    return batch | {"labels": torch.full_like(batch["labels"], IGNORED)} if is_masked else batch


def collator(is_masked: bool) -> Callable:
    return lambda rows: collated(rows, is_masked=is_masked)


def one_batch() -> dict:
    return collated(rows()[:4])


def arguments(kind: type, **more):
    """Arguments of a Trainer; those that this version does not know are left out."""
    known = {field.name for field in dataclasses.fields(kind)}
    given = {**ARGUMENTS, "output_dir": tempfile.mkdtemp(), **more}
    return kind(**{name: value for name, value in given.items() if name in known})


def trainer_of(kind: type, **given):
    """A Trainer; its tokenizer's argument was called `tokenizer` before transformers 4.46."""
    known = inspect.signature(kind.__init__).parameters
    name = "processing_class" if "processing_class" in known else "tokenizer"
    return kind(**{name: tokenizer()}, **given)


def plain_trainer(model: nn.Module | None = None, *, is_masked: bool = False) -> Trainer:
    return trainer_of(
        Trainer,
        model=model or language_model(),
        args=arguments(TrainingArguments),
        train_dataset=rows(),
        data_collator=collator(is_masked),
    )
