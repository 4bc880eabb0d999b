"""Measures a checkpoint on held-out questions, as task.yaml says."""

import torch
import yaml
from data import collate, encode, read_jsonl
from transformers import AutoModelForCausalLM


def read_task(path="task.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def prompt_of(row, task, tokenizer):
    chat = [{"role": "user", "content": row["question"]}]
    return tokenizer.apply_chat_template(
        chat, add_generation_prompt=task["add_generation_prompt"], tokenize=False
    )


def held_out(task, tokenizer):
    """The rows that are asked, without those that are too long."""
    rows = []
    for row in read_jsonl(task["test_file"])[: task["limit"]]:
        prompt = prompt_of(row, task, tokenizer)
        length = len(tokenizer(prompt, add_special_tokens=False)["input_ids"])
        if length <= task["most_prompt_tokens"]:
            rows.append(row | {"prompt": prompt})
    return rows


def replies(model, rows, task, tokenizer):
    """What the model answers to each row, without its end."""
    prompts = [row["prompt"] for row in rows]
    batch = tokenizer(
        prompts, padding=True, padding_side="left", add_special_tokens=False, return_tensors="pt"
    )
    ids = model.generate(
        **batch,
        do_sample=False,
        max_length=task["max_length"],
        no_repeat_ngram_size=task["no_repeat_ngram_size"],
        eos_token_id=tokenizer.convert_tokens_to_ids(task["until"]),
        pad_token_id=tokenizer.pad_token_id,
    )
    new = ids[:, batch["input_ids"].shape[1] :]
    return [text.strip() for text in tokenizer.batch_decode(new, skip_special_tokens=True)]


@torch.no_grad()
def measured(folder, task, tokenizer):
    """Exact match and loss of the checkpoint in a folder."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    rows = held_out(task, tokenizer)
    said = replies(model, rows, task, tokenizer)
    right = [reply == row["answer"] for reply, row in zip(said, rows)]
    batch = collate([encode(row, tokenizer) for row in rows], tokenizer.pad_token_id)
    return {
        "exact_match": round(sum(right) / len(right), 4),
        "loss": round(model(**batch).loss.item(), 4),
    }
