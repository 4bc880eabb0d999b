"""Questions to chats, and the teacher's replies to them."""

import json

import torch


def read_questions(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line)["question"] for line in file if line.strip()]


def prompts_of(questions, tokenizer):
    """Each question as a chat whose reply is open."""
    chats = [[{"role": "user", "content": question}] for question in questions]
    return tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)


def cut(ids, end):
    """The ids up to the first end, which stays."""
    return ids[: ids.index(end) + 1] if end in ids else ids


@torch.no_grad()
def ask(teacher, prompts, tokenizer, cfg):
    """Ids of each prompt with the teacher's reply, and how many of them are the prompt's."""
    asked = []
    for start in range(0, len(prompts), cfg["reply_batch"]):
        texts = prompts[start : start + cfg["reply_batch"]]
        batch = tokenizer(texts, padding=True, add_special_tokens=False, return_tensors="pt")
        made = teacher.generate(
            **batch,
            max_new_tokens=cfg["reply_length"],
            do_sample=False,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        width = batch["input_ids"].shape[1]
        for row, mask in zip(made.tolist(), batch["attention_mask"].tolist()):
            prompt = row[width - sum(mask) : width]
            asked.append((prompt + cut(row[width:], tokenizer.eos_token_id), len(prompt)))
    return asked
