"""Teaches the student of base/ what the teacher answers: its replies, and how sure it is of them.

python train.py      reads config.yaml, data/ and teacher/, starts from base/, writes run/
"""

import json
import os

import torch
import torch.nn.functional as F
import yaml
from batches import batches, collate
from replies import ask, prompts_of, read_questions
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
    rate = float(cfg["learning_rate"])
    return torch.optim.AdamW(student.parameters(), lr=rate, weight_decay=cfg["weight_decay"])


def make_schedule(optimizer, cfg):
    """Linear warm-up, then a line to nothing."""

    def factor(step):
        if step < cfg["warmup_steps"]:
            return (step + 1) / cfg["warmup_steps"]
        return (cfg["max_steps"] - step) / (cfg["max_steps"] - cfg["warmup_steps"])

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def logps_of(model, batch, temperature):
    output = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    return F.log_softmax(output.logits / temperature, dim=-1)


def distance(student, teacher, batch, cfg):
    """KL(teacher || student), the mean over the positions that predict a token of a reply."""
    with torch.no_grad():
        wanted = logps_of(teacher, batch, cfg["temperature"])
    said = logps_of(student, batch, cfg["temperature"])
    each = F.kl_div(said, wanted, log_target=True, reduction="none").sum(-1)
    return (each * batch["predicts"]).sum() / batch["predicts"].sum()


def train(student, teacher, rows, pad_id, cfg):
    optimizer = make_optimizer(student, cfg)
    schedule = make_schedule(optimizer, cfg)
    stream, log = batches(rows, cfg["batch_size"], cfg["seed"]), []
    for step in range(1, cfg["max_steps"] + 1):
        loss = distance(student, teacher, collate(next(stream), pad_id), cfg)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(student.parameters(), cfg["max_grad_norm"])
        entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item()}
        entry["learning_rate"] = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        log.append(entry)
        if step % 3 == 0:
            print({name: float(f"{value:.4g}") for name, value in entry.items()})
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
    student, teacher = load_models(cfg)
    prompts = prompts_of(read_questions(cfg["train_file"]), tokenizer)
    rows = ask(teacher, prompts, tokenizer, cfg)
    print(f"{len(rows)} replies, {sum(len(ids) - num for ids, num in rows)} tokens of them")
    log = train(student, teacher, rows, tokenizer.pad_token_id, cfg)
    export(student, tokenizer, log, cfg)
    print(f"done: {len(log)} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
