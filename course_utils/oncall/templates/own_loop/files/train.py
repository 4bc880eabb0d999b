"""Full fine-tune on sums of two and three numbers, with our own loop.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import math
import os

import torch
import torch.nn.functional as F
import yaml
from data import IGNORED, Batches, collate, encode, read_jsonl
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed

RUN = "run"
CHECKPOINT = f"{RUN}/checkpoint.pt"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def make_optimizer(model, cfg):
    """AdamW; norms are not decayed."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    groups = [
        {"params": decayed, "weight_decay": cfg["weight_decay"]},
        {"params": plain, "weight_decay": 0.0},
    ]
    rate = float(cfg["learning_rate"])
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, cfg["beta2"]))


def make_schedule(optimizer, cfg):
    """Linear warm-up, then a cosine to nothing; counted in optimizer steps."""

    def factor(step):
        if step < cfg["warmup_steps"]:
            return (step + 1) / cfg["warmup_steps"]
        done = (step - cfg["warmup_steps"]) / (cfg["max_steps"] - cfg["warmup_steps"])
        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def summed_loss(model, batch):
    """Cross-entropy of each labelled token given the ones before it, summed."""
    output = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    logits, labels = output.logits[:, :-1], batch["labels"][:, 1:]
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        labels.reshape(-1),
        ignore_index=IGNORED,
        reduction="sum",
    )


def optimizer_step(model, optimizer, schedule, micro_batches, cfg):
    """One step over several micro-batches, as if they were one batch."""
    num_tokens = sum((b["labels"][:, 1:] != IGNORED).sum().item() for b in micro_batches)
    total = 0.0
    for batch in micro_batches:
        loss = summed_loss(model, batch) / num_tokens
        loss.backward()
        total += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
    rate = optimizer.param_groups[0]["lr"]
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    return {"loss": total, "grad_norm": norm.item(), "learning_rate": rate}


def save_checkpoint(model, optimizer, schedule, step, log):
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "step": step,
        "log": log,
    }
    torch.save(state, CHECKPOINT)


def load_checkpoint(model, optimizer, schedule):
    """The step to go on from, and the log so far; 0 and nothing without a checkpoint."""
    if not os.path.exists(CHECKPOINT):
        return 0, []
    state = torch.load(CHECKPOINT, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    print(f"resumed at step {state['step']}")
    return state["step"], state["log"]


def train_leg(cfg, tokenizer, rows, last_step):
    """From the newest checkpoint, or from the start, up to `last_step`."""
    set_seed(cfg["seed"])
    model = AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")
    optimizer = make_optimizer(model, cfg)
    schedule = make_schedule(optimizer, cfg)
    step, log = load_checkpoint(model, optimizer, schedule)
    accumulated = cfg["accumulation_steps"]
    batches = Batches(rows, cfg["micro_batch_size"], cfg["seed"], cfg["shuffle"])
    stream = batches.starting_at(step * accumulated)
    model.train()
    while step < last_step:
        parts = [collate(next(stream), tokenizer.pad_token_id) for _ in range(accumulated)]
        entry = optimizer_step(model, optimizer, schedule, parts, cfg)
        step += 1
        log.append({"step": step, **entry})
        if step % 2 == 0:
            print({name: float(f"{value:.4g}") for name, value in log[-1].items()})
    save_checkpoint(model, optimizer, schedule, step, log)
    return model, log


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
    os.makedirs(RUN, exist_ok=True)
    if os.path.exists(CHECKPOINT):
        os.remove(CHECKPOINT)  # a new run, not a leg of the last one
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    rows = [encode(row, tokenizer, cfg["max_length"]) for row in read_jsonl(cfg["train_file"])]
    print(f"{len(rows)} rows, {sum(len(ids) for ids, _ in rows)} tokens")
    for leg in range(1, cfg["legs"] + 1):
        last_step = cfg["max_steps"] * leg // cfg["legs"]
        model, log = train_leg(cfg, tokenizer, rows, last_step)
    export(model, tokenizer, log, cfg)
    print(f"done: {log[-1]['step']} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
