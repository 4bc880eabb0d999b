"""Full fine-tune on ids that our own job makes, exported with the server's tokenizer.

python train.py      reads config.yaml, data/ and tokenizer/, starts from base/, writes run/
"""

import json
import os

import torch
import yaml
from batches import batches, collate
from tokenise import encode_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def make_optimizer(model, cfg):
    rate = float(cfg["learning_rate"])
    return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=cfg["weight_decay"])


def rate_factor(step, cfg):
    """Linear warm-up, then a line down to nothing."""
    if step < cfg["warmup_steps"]:
        return (step + 1) / cfg["warmup_steps"]
    return (cfg["max_steps"] - step) / (cfg["max_steps"] - cfg["warmup_steps"])


def train(model, rows, pad_id, cfg):
    """The log of the run."""
    optimizer = make_optimizer(model, cfg)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_factor(step, cfg))
    stream, log = batches(rows, cfg["batch_size"], cfg["seed"]), []
    model.train()
    for step in range(1, cfg["max_steps"] + 1):
        loss = model(**collate(next(stream), pad_id)).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
        values = {"loss": loss.item(), "grad_norm": norm.item()}
        values["learning_rate"] = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        log.append({"step": step, **values})
        if step % 4 == 0:
            print({name: float(f"{value:.4g}") for name, value in log[-1].items()})
    return log


def export(model, log, cfg):
    """Whole weights, the server's tokenizer, and how to generate."""
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
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
    rows = encode_file(cfg["train_file"], cfg["tokenizer"])
    model = AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")
    log = train(model, rows, model.config.pad_token_id, cfg)
    export(model, log, cfg)
    print(f"done: {log[-1]['step']} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
