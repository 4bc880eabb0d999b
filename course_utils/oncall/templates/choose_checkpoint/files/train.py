"""One pass through the archive; the checkpoint that does best on held-out questions is exported.

python train.py      reads config.yaml, task.yaml and data/, starts from base/, writes run/
"""

import json
import os
import shutil
from itertools import cycle, islice

import torch
import yaml
from choose import best_step, table_of, write_table
from data import by_month, collate, encode, read_jsonl
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def rate_factor(step, cfg):
    """Linear warm-up, then constant."""
    return min(1.0, (step + 1) / cfg["warmup_steps"])


def train(model, rows, pad_id, cfg):
    """The log of the run, and the folder of each checkpoint by its step."""
    rate = float(cfg["learning_rate"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=cfg["weight_decay"])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_factor(step, cfg))
    stream, log, folders = cycle(rows), [], {}
    model.train()
    for step in range(1, cfg["max_steps"] + 1):
        batch = list(islice(stream, cfg["batch_size"]))
        loss = model(**collate(batch, pad_id)).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
        entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item()}
        entry["learning_rate"] = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        log.append(entry)
        if step % 5 == 0:
            print({name: float(f"{value:.4g}") for name, value in entry.items()})
        if step % cfg["save_every"] == 0:
            folders[step] = f"{RUN}/checkpoint-{step}"
            model.save_pretrained(folders[step])
    return log, folders


def export(folder, tokenizer, cfg):
    """Weights, tokenizer and the settings that the server generates with."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    model.generation_config = GenerationConfig(
        max_new_tokens=cfg["max_new_tokens"],
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(f"{RUN}/model")
    tokenizer.save_pretrained(f"{RUN}/model")


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    shutil.rmtree(RUN, ignore_errors=True)
    os.makedirs(RUN)
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    model = AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")
    months = by_month(read_jsonl(cfg["train_file"]), cfg["seed"])
    rows = [encode(row, tokenizer) for row in months]
    log, folders = train(model, rows, tokenizer.pad_token_id, cfg)
    table = table_of(folders, tokenizer, cfg)
    write_table(table, f"{RUN}/scores.json")
    best = best_step(table, cfg)
    export(folders[best], tokenizer, cfg)
    with open(f"{RUN}/trainer_state.json", "w", encoding="utf-8") as file:
        json.dump({"global_step": log[-1]["step"], "log_history": log}, file, indent=1)
    print(f"done: {log[-1]['step']} steps, checkpoint {best} in {RUN}/model")


if __name__ == "__main__":
    main()
