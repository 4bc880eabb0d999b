"""Distils a teacher into the student of base/, with a loop of our own.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import os

import torch
import yaml
from data import batches, collate, encode, read_jsonl
from losses import divergence, mean_over_reply, of_answers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def load_models(cfg):
    """The student, which is trained, and the teacher, which is not."""
    student = AutoModelForCausalLM.from_pretrained(cfg["student"], dtype="float32")
    teacher = AutoModelForCausalLM.from_pretrained(cfg["teacher"], dtype="float32")
    return student.train(), teacher.eval().requires_grad_(False)


def make_optimizer(student, cfg):
    return torch.optim.AdamW(
        student.parameters(),
        lr=float(cfg["learning_rate"]),
        weight_decay=cfg["weight_decay"],
    )


def make_schedule(optimizer, cfg):
    """Linear warm-up, then linear down to nothing."""

    def factor(step):
        if step < cfg["warmup_steps"]:
            return (step + 1) / cfg["warmup_steps"]
        return (cfg["max_steps"] - step) / (cfg["max_steps"] - cfg["warmup_steps"])

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def logits_of(model, batch):
    return model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits


def losses_on(student, teacher, batch, cfg):
    """The two parts of the loss on one batch."""
    with torch.no_grad():
        wanted = logits_of(teacher, batch)
    said = logits_of(student, batch)
    apart = divergence(said, wanted, cfg["temperature"])
    return mean_over_reply(apart, batch), mean_over_reply(of_answers(said, batch), batch)


def train(student, teacher, rows, pad_id, cfg):
    optimizer = make_optimizer(student, cfg)
    schedule = make_schedule(optimizer, cfg)
    stream, log = batches(rows, cfg["batch_size"], cfg["seed"]), []
    for step in range(1, cfg["max_steps"] + 1):
        batch = collate(next(stream), pad_id)
        apart, plain = losses_on(student, teacher, batch, cfg)
        loss = apart + cfg["answer_weight"] * plain
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(student.parameters(), cfg["max_grad_norm"])
        rate = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        log.append(
            {
                "step": step,
                "loss": loss.item(),
                "kl": apart.item(),
                "grad_norm": norm.item(),
                "learning_rate": rate,
            }
        )
        if step % 3 == 0:
            print({name: float(f"{value:.4g}") for name, value in log[-1].items()})
    return log


def export(student, tokenizer, log, cfg):
    student.generation_config = GenerationConfig(
        max_new_tokens=cfg["max_new_tokens"],
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    student.save_pretrained(f"{RUN}/model")
    tokenizer.save_pretrained(f"{RUN}/model")
    with open(f"{RUN}/trainer_state.json", "w", encoding="utf-8") as file:
        json.dump({"global_step": len(log), "log_history": log}, file, indent=1)


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    os.makedirs(RUN, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(cfg["student"])
    rows = [encode(row, tokenizer) for row in read_jsonl(cfg["train_file"])]
    print(f"{len(rows)} rows, {sum(len(ids) for ids, _ in rows)} tokens")
    student, teacher = load_models(cfg)
    log = train(student, teacher, rows, tokenizer.pad_token_id, cfg)
    export(student, tokenizer, log, cfg)
    print(f"done: {len(log)} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
