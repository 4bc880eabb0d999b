"""A model that marks steps: the body of base/ and a new head at every token.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import os
from itertools import islice

import torch
import torch.nn.functional as F
import yaml
from data import collate, encode, endless, mark_weights
from marks import NAMES, UNMARKED, load_solutions
from transformers import AutoModelForTokenClassification, AutoTokenizer, set_seed

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def load_model(cfg):
    model = AutoModelForTokenClassification.from_pretrained(
        cfg["model"],
        dtype="float32",
        id2label=dict(enumerate(NAMES)),
        label2id={name: mark for mark, name in enumerate(NAMES)},
    )
    with torch.no_grad():
        model.score.weight.normal_(std=0.02)
    return model


def rate_factor(step, cfg):
    """Linear warm-up, then a line to nothing."""
    if step < cfg["warmup_steps"]:
        return (step + 1) / cfg["warmup_steps"]
    return (cfg["max_steps"] - step) / (cfg["max_steps"] - cfg["warmup_steps"])


def mean_loss(model, batch, weights):
    """Cross-entropy of the marks."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        batch["labels"].reshape(-1),
        weight=weights,
        ignore_index=UNMARKED,
    )


def train(model, rows, pad_id, cfg):
    rate = float(cfg["learning_rate"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=cfg["weight_decay"])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_factor(step, cfg))
    weights = torch.tensor(mark_weights(rows, len(NAMES))) if cfg["balance"] else None
    stream, log = endless(rows, cfg["batch_size"], cfg["seed"]), []
    model.train()
    for step, batch in enumerate(islice(stream, cfg["max_steps"]), start=1):
        loss = mean_loss(model, collate(batch, pad_id), weights)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
        entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item()}
        entry["learning_rate"] = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        log.append(entry)
        if step % 4 == 0:
            print({name: float(f"{value:.4g}") for name, value in entry.items()})
    return log


def export(model, tokenizer, log):
    model.save_pretrained(f"{RUN}/model")
    tokenizer.save_pretrained(f"{RUN}/model")
    with open(f"{RUN}/trainer_state.json", "w", encoding="utf-8") as file:
        json.dump({"global_step": log[-1]["step"], "log_history": log}, file, indent=1)


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    os.makedirs(RUN, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    rows = [encode(solution, tokenizer) for solution in load_solutions(cfg)]
    model = load_model(cfg)
    log = train(model, rows, tokenizer.pad_token_id, cfg)
    export(model, tokenizer, log)
    print(f"done: {log[-1]['step']} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
