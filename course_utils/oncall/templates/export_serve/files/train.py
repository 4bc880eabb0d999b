"""Teach the base to answer in our digit code: train an adapter, export it, ask what is served.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import os
import shutil

import torch
import yaml
from data import batches, collate, encode, read_jsonl
from export import export, load_base
from peft import LoraConfig, get_peft_model
from serve import ask
from transformers import AutoTokenizer, set_seed

RUN = "run"
ADAPTER = f"{RUN}/adapter"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def build_model(cfg):
    config = LoraConfig(
        r=cfg["lora_r"],
        lora_alpha=cfg["lora_alpha"],
        lora_dropout=cfg["lora_dropout"],
        target_modules=cfg["target_modules"],
        target_parameters=cfg["target_parameters"],
        task_type="CAUSAL_LM",
    )
    return get_peft_model(load_base(cfg), config)


def rate_factor(step, cfg):
    """Linear warm-up, then linearly down to a tenth."""
    if step < cfg["warmup_steps"]:
        return (step + 1) / cfg["warmup_steps"]
    return 1 - 0.9 * step / cfg["max_steps"]


def save_checkpoint(model, step):
    model.save_pretrained(f"{RUN}/checkpoint-{step}")


def train(model, rows, pad_id, cfg):
    """The log of the run."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        trained, lr=float(cfg["learning_rate"]), weight_decay=cfg["weight_decay"]
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_factor(step, cfg))
    stream, log = batches(rows, cfg["batch_size"], cfg["seed"]), []
    model.train()
    for step in range(1, cfg["max_steps"] + 1):
        loss = model(**collate(next(stream), pad_id)).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trained, cfg["max_grad_norm"])
        rate = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        values = {"loss": loss.item(), "grad_norm": norm.item(), "learning_rate": rate}
        log.append({"step": step, **values})
        if step % 4 == 0:
            print({name: float(f"{value:.4g}") for name, value in log[-1].items()})
        if step % cfg["save_every"] == 0:
            save_checkpoint(model, step)
    return log


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    shutil.rmtree(RUN, ignore_errors=True)
    os.makedirs(RUN)
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    rows = [encode(row, tokenizer) for row in read_jsonl(cfg["train_file"])]
    model = build_model(cfg)
    model.print_trainable_parameters()
    log = train(model, rows, tokenizer.pad_token_id, cfg)
    model.save_pretrained(ADAPTER)
    with open(f"{RUN}/trainer_state.json", "w", encoding="utf-8") as file:
        json.dump({"global_step": log[-1]["step"], "log_history": log}, file, indent=1)
    export(ADAPTER, f"{RUN}/model", tokenizer, cfg)
    print(f"done: {log[-1]['step']} steps, model in {RUN}/model")
    ask(f"{RUN}/model")


if __name__ == "__main__":
    main()
