"""Full fine-tune on the sums of two sources.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import os

import torch
import torch.nn.functional as F
import yaml
from batches import collate, cut, endless
from prepare import IGNORED, load_rows
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def make_optimizer(model, cfg):
    rate = float(cfg["learning_rate"])
    return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=cfg["weight_decay"])


def make_schedule(optimizer, cfg):
    """Linear warm-up, then a line to nothing."""

    def factor(step):
        if step < cfg["warmup_steps"]:
            return (step + 1) / cfg["warmup_steps"]
        return (cfg["max_steps"] - step) / (cfg["max_steps"] - cfg["warmup_steps"])

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def mean_loss(model, batch):
    """Cross-entropy of the labelled tokens given the ones before them."""
    output = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    logits, labels = output.logits[:, :-1], batch["labels"][:, 1:]
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=IGNORED
    )


@torch.no_grad()
def check_loss(model, checks, pad_id):
    """Mean loss on the checks, in parts of one size."""
    losses = [mean_loss(model, collate(part, pad_id)).item() for part in cut(checks, 24)]
    return sum(losses) / len(losses)


def train(model, tokenizer, rows, checks, cfg):
    """The log, and the weights that did best on the checks."""
    optimizer = make_optimizer(model, cfg)
    schedule = make_schedule(optimizer, cfg)
    stream = endless(rows, cfg)
    log, best, weights = [], float("inf"), {}
    for step in range(1, cfg["max_steps"] + 1):
        loss = mean_loss(model, collate(next(stream), tokenizer.pad_token_id))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
        entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item()}
        entry["learning_rate"] = optimizer.param_groups[0]["lr"]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % cfg["check_every"] == 0:
            entry["check_loss"] = check_loss(model, checks, tokenizer.pad_token_id)
            if entry["check_loss"] < best:
                best = entry["check_loss"]
                weights = {name: w.clone() for name, w in model.state_dict().items()}
        log.append(entry)
        if step % 4 == 0:
            print({name: float(f"{value:.4g}") for name, value in entry.items()})
    return log, weights


def export(model, tokenizer, log, cfg):
    model.generation_config = GenerationConfig(
        max_new_tokens=cfg["max_new_tokens"],
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(f"{RUN}/model")
    tokenizer.save_pretrained(f"{RUN}/model")
    with open(f"{RUN}/trainer_state.json", "w", encoding="utf-8") as file:
        json.dump({"global_step": log[-1]["step"], "log_history": log}, file, indent=1)


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    os.makedirs(RUN, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    model = AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")
    rows, checks = load_rows(cfg, tokenizer)
    log, weights = train(model, tokenizer, rows, checks, cfg)
    model.load_state_dict(weights)
    export(model, tokenizer, log, cfg)
    print(f"done: {log[-1]['step']} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
