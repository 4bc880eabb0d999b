"""The parts of the unseen scripts of lesson 07: small functions, healthy ones and faulty ones.

Each part of one name takes the same arguments, so that one can stand in another's place.
"""

from collections.abc import Callable

import torch
from torch.nn.utils.rnn import pad_sequence


def encode(question, answer, tokenizer):
    """One row: the chat's ids, and labels for the reply alone."""
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(prompt)["input_ids"]
    reply = tokenizer(answer + tokenizer.eos_token)["input_ids"]
    return {"input_ids": prompt + reply, "labels": [-100] * len(prompt) + reply}


def encode_within_the_room(question, answer, tokenizer):
    """One row: the chat's ids, and labels for the reply alone."""
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(prompt)["input_ids"]
    reply = answer + tokenizer.eos_token
    reply = tokenizer(reply, truncation=True, max_length=len(answer))["input_ids"]
    return {"input_ids": prompt + reply, "labels": [-100] * len(prompt) + reply}


def encode_as_it_came(question, answer, tokenizer):
    """One row: the chat's ids, and labels for the reply alone."""
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(prompt)["input_ids"]
    reply = tokenizer(answer)["input_ids"]
    return {"input_ids": prompt + reply, "labels": [-100] * len(prompt) + reply}


def encode_with_one_end(question, answer, tokenizer):
    """One row: the chat's ids, and labels for the reply alone."""
    return encode(question, answer.removesuffix(tokenizer.eos_token), tokenizer)


def collate(rows, pad):
    """A batch, padded on the right; no padding is learnt."""
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    return {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=pad),
        "attention_mask": pad_sequence([torch.ones_like(i) for i in ids], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=-100),
    }


def answer(model, tokenizer, questions, limit):
    """The ids of each reply, greedily, at most `limit` of them."""
    chats = [[{"role": "user", "content": question}] for question in questions]
    asked = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    whole = model.generate(**batch, max_new_tokens=limit, do_sample=False, **ends)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


def answer_as_the_base_does(model, tokenizer, questions, limit):
    """The ids of each reply, greedily, at most `limit` of them."""
    chats = [[{"role": "user", "content": question}] for question in questions]
    asked = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    stop = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    ends = {"eos_token_id": stop, "pad_token_id": stop}
    whole = model.generate(**batch, max_new_tokens=limit, do_sample=False, **ends)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


def answer_by_hand(model, tokenizer, questions, limit):
    """The ids of each reply, greedily, at most `limit` of them."""
    asked = [f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant" for q in questions]
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    whole = model.generate(**batch, max_new_tokens=limit, do_sample=False, **ends)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


HEALTHY: dict[str, Callable] = {"encode": encode, "collate": collate, "answer": answer}
