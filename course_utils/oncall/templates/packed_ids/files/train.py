"""Full fine-tune on packs of token ids from several sources.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import os

import torch
import torch.nn.functional as F
import yaml
from packs import batches, collate, load_sources
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


def weighted_loss(model, batch):
    """Cross-entropy of each token given those before it in its document, a mean by weight."""
    output = model(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        position_ids=batch["position_ids"],
    )
    logits, targets = output.logits[:, :-1], batch["input_ids"][:, 1:]
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    is_inside = batch["documents"][:, 1:] == batch["documents"][:, :-1]
    weights = batch["weights"][:, 1:] * is_inside  # a document's first token has none before it
    return (losses * weights).sum() / weights.sum().clamp(min=1.0)


def train(model, stream, cfg):
    """Train to the last step; returns the log."""
    optimizer = make_optimizer(model, cfg)
    schedule = make_schedule(optimizer, cfg)
    log = []
    model.train()
    for step in range(1, cfg["max_steps"] + 1):
        loss = weighted_loss(model, collate(next(stream), cfg))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
        entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item()}
        entry["learning_rate"] = optimizer.param_groups[0]["lr"]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        log.append(entry)
        if step % 4 == 0:
            print({name: float(f"{value:.4g}") for name, value in entry.items()})
    return log


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
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])  # exported, and used for nothing else
    model = AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")
    sources, shares = load_sources(cfg)
    log = train(model, batches(sources, shares, cfg), cfg)
    export(model, tokenizer, log, cfg)
    print(f"done: {log[-1]['step']} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
