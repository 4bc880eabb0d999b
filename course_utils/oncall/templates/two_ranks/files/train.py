"""Full fine-tune with data parallelism, the ranks one after the other in one process.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import os

import torch
import torch.nn.functional as F
import yaml
from collectives import all_gather
from replicas import (
    RUN,
    load_weights,
    path_of,
    read_model,
    save_part,
    share_gradients,
    share_weights,
)
from shards import IGNORED, collate, endless, load_shard, read_jsonl
from transformers import AutoTokenizer, GenerationConfig, set_seed


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def make_optimizer(model, num_ranks, cfg):
    """AdamW; the rate grows with the number of ranks."""
    rate = float(cfg["learning_rate"]) * num_ranks / cfg["tuned_on"]
    return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=cfg["weight_decay"])


def make_schedule(optimizer, cfg):
    """Linear warm-up, then a line to nothing."""

    def factor(step):
        if step < cfg["warmup_steps"]:
            return (step + 1) / cfg["warmup_steps"]
        return (cfg["max_steps"] - step) / (cfg["max_steps"] - cfg["warmup_steps"])

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


def backward_of_all(replicas, batches):
    """Gradients on every rank, each token of all ranks with the same weight; their losses."""
    counts = [int((batch["labels"][:, 1:] != IGNORED).sum()) for batch in batches]
    num_tokens = sum(all_gather(counts)) / len(replicas)
    losses = []
    for model, batch in zip(replicas, batches, strict=True):
        loss = summed_loss(model, batch) / num_tokens
        loss.backward()
        losses.append(loss.item())
    return all_gather(losses)


def step_of_all(replicas, optimizers, schedules, cfg):
    """Every rank steps its own optimizer."""
    for model, optimizer, schedule in zip(replicas, optimizers, schedules, strict=True):
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
        entry = {"grad_norm": norm.item(), "learning_rate": optimizer.param_groups[0]["lr"]}
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return entry


def resume(replicas, optimizers, schedules, cfg):
    """Rank 0 puts the weights together; every rank reads its own optimizer."""
    load_weights(replicas[0], cfg)
    for rank, optimizer in enumerate(optimizers):
        state = torch.load(path_of(rank), weights_only=True)
        optimizer.load_state_dict(state["optimizer"])
        schedules[rank].load_state_dict(state["schedule"])


def train_leg(streams, pad_id, log, last_step, cfg):
    """From the parts of the leg before, or from the start, up to `last_step`."""
    num_ranks, step = len(streams), len(log)
    replicas = [read_model(cfg) for _ in streams]
    optimizers = [make_optimizer(model, num_ranks, cfg) for model in replicas]
    schedules = [make_schedule(optimizer, cfg) for optimizer in optimizers]
    if step > 0:
        resume(replicas, optimizers, schedules, cfg)
    share_weights(replicas, cfg)
    while step < last_step:
        step += 1
        batches = [collate(next(stream), pad_id) for stream in streams]
        losses = backward_of_all(replicas, batches)
        if step % cfg["sync_every"] == 0:
            share_gradients(replicas, cfg)
        entry = {"step": step, "loss": sum(losses) / num_ranks}
        entry |= {f"loss_of_rank_{rank}": loss for rank, loss in enumerate(losses)}
        log.append(entry | step_of_all(replicas, optimizers, schedules, cfg))
        if step % 4 == 0:
            print({name: float(f"{value:.4g}") for name, value in log[-1].items()})
    for rank, model in enumerate(replicas):
        save_part(model, optimizers[rank], schedules[rank], rank, num_ranks)


def export(tokenizer, log, cfg):
    """The last checkpoint in one file, for the server."""
    model = load_weights(read_model(cfg), cfg)
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
    hosts = read_jsonl(cfg["hosts_file"])
    shards = [load_shard(host, tokenizer, cfg) for host in hosts]
    streams = [endless(rows, rank, cfg) for rank, rows in enumerate(shards)]
    log = []
    for leg in range(1, cfg["legs"] + 1):
        last_step = cfg["max_steps"] * leg // cfg["legs"]
        train_leg(streams, tokenizer.pad_token_id, log, last_step, cfg)
    export(tokenizer, log, cfg)
    print(f"done: {log[-1]['step']} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
