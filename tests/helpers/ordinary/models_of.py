"""Tiny models from a config, and two that were first trained on other text."""

from copy import deepcopy
from functools import cache
from pathlib import Path

import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForSequenceClassification,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    set_seed,
)

from ordinary import texts
from ordinary import tokenizers_of as tok

SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 128,
}
WIDE = {"initializer_range": 0.1}  # 0.02 is for a width of 768; this is its like for 64


def special(tokenizer) -> dict[str, int | None]:
    """The ids of special tokens that a config repeats."""
    return {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }


def encoder(config_class, tokenizer, **changed) -> PreTrainedConfig:
    """The config of a small BERT-like model for this tokenizer."""
    return config_class(**{**SMALL, **WIDE, **special(tokenizer), **changed})


def decoder(config_class, tokenizer, **changed) -> PreTrainedConfig:
    """The config of a small Llama-like model for this tokenizer."""
    size = {**SMALL, "num_key_value_heads": 2, **special(tokenizer)}
    return config_class(**{**size, **changed})


def _chat_text(question: str, answer: str) -> str:
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"


@cache
def _chat_model(num_steps: int) -> PreTrainedModel:
    set_seed(1)
    tokenizer = tok.chat()
    model = AutoModelForCausalLM.from_config(
        decoder(Qwen2Config, tokenizer, tie_word_embeddings=True)
    )
    rows = [_chat_text(question, answer) for question, answer in texts.chats(400, seed=5)]
    for row in texts.preferences(200, seed=5):
        rows += [_chat_text(row["prompt"], row["chosen"])]
        rows += [_chat_text(row["prompt"], row["rejected"])]
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    _fit(model, collate, [{"input_ids": ids} for ids in tokenizer(rows)["input_ids"]], num_steps)
    return model


@cache
def _bert_model() -> PreTrainedModel:
    set_seed(1)
    tokenizer = tok.bert()
    model = BertForSequenceClassification(encoder(BertConfig, tokenizer))
    rows = texts.reviews(400, seed=5)
    features = [{**tokenizer(row["text"]), "labels": row["label"]} for row in rows]
    _fit(model, DataCollatorWithPadding(tokenizer), features, 50, rate=2e-3)
    return model


def _fit(model, collate, features: list, num_steps: int, rate: float = 5e-3) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=num_steps)
    model.train()
    for _ in range(num_steps):
        chosen = torch.randint(len(features), (16,)).tolist()
        model(**collate([features[i] for i in chosen])).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def chat_model(folder: Path, num_steps: int = 120) -> PreTrainedModel:
    """A small Qwen2 that has read chats and ends its turns, loaded from a saved folder."""
    place = folder.parent / f"chat-{num_steps}"
    _chat_model(num_steps).save_pretrained(place)
    return AutoModelForCausalLM.from_pretrained(place)


def bert_model() -> PreTrainedModel:
    """A copy of a small BERT that was fine-tuned on reviews before."""
    return deepcopy(_bert_model())


def with_new_head(head_class, body: PreTrainedModel, **changed) -> PreTrainedModel:
    """The pretrained body under a fresh head, as `from_pretrained` of another class gives it."""
    config = deepcopy(body.config)
    for name, value in changed.items():
        setattr(config, name, value)
    model = head_class(config)
    prefix = model.base_model_prefix
    getattr(model, prefix).load_state_dict(getattr(body, prefix).state_dict(), strict=False)
    return model
