"""A reward model on pairs of sums: the body of base/ and a new head of one score.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import torch
import yaml
from data import load_pairs
from transformers import AutoModelForSequenceClassification, AutoTokenizer, set_seed
from trl import RewardConfig, RewardTrainer

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def load_tokenizer(cfg):
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    tokenizer.padding_side = "right"
    return tokenizer


def load_model(cfg, tokenizer):
    model = AutoModelForSequenceClassification.from_pretrained(
        cfg["model"], num_labels=1, dtype="float32"
    )
    model.config.pad_token_id = tokenizer.pad_token_id  # where a score is read depends on it
    with torch.no_grad():
        model.score.weight.normal_(std=0.02)
    return model


def training_config(cfg):
    return RewardConfig(
        output_dir=RUN,
        seed=cfg["seed"],
        # optimisation
        max_steps=cfg["max_steps"],
        per_device_train_batch_size=cfg["batch_size"],
        gradient_accumulation_steps=cfg["grad_accum"],
        learning_rate=float(cfg["learning_rate"]),
        lr_scheduler_type=cfg["scheduler"],
        warmup_steps=cfg["warmup_steps"],
        weight_decay=cfg["weight_decay"],
        max_grad_norm=cfg["max_grad_norm"],
        center_rewards_coefficient=cfg["center_rewards"],
        disable_dropout=cfg["dropout"] == 0,
        # rows
        max_length=cfg["max_length"],
        # a laptop
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        # what is kept
        logging_steps=2,
        save_strategy="no",
        report_to="none",
    )


def build_trainer(cfg):
    tokenizer = load_tokenizer(cfg)
    return RewardTrainer(
        model=load_model(cfg, tokenizer),
        args=training_config(cfg),
        train_dataset=load_pairs(cfg["train_file"]),
        processing_class=tokenizer,
    )


def export(trainer):
    trainer.model.save_pretrained(f"{RUN}/model")
    trainer.processing_class.save_pretrained(f"{RUN}/model")
    trainer.state.save_to_json(f"{RUN}/trainer_state.json")


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    trainer = build_trainer(cfg)
    trainer.train()
    export(trainer)
    print(f"done: {trainer.state.global_step} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
