"""A classifier of replies: the body of base/ and a new head, every weight trained.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import torch
import torch.nn.functional as F
import yaml
from data import class_weights, load_rows
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def load_tokenizer(cfg):
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    tokenizer.padding_side = "right"
    return tokenizer


def load_model(cfg, tokenizer):
    classes = cfg["classes"]
    model = AutoModelForSequenceClassification.from_pretrained(
        cfg["model"],
        dtype="float32",
        id2label=dict(enumerate(classes)),
        label2id={name: number for number, name in enumerate(classes)},
    )
    model.config.pad_token_id = tokenizer.pad_token_id
    with torch.no_grad():
        model.score.weight.normal_(std=0.02)
    return model


class Balanced(Trainer):
    """Cross-entropy in which each class weighs the same, however rare it is."""

    weights = None

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs.logits, labels, weight=self.weights)
        return (loss, outputs) if return_outputs else loss


def training_config(cfg):
    return TrainingArguments(
        output_dir=RUN,
        seed=cfg["seed"],
        # optimisation
        max_steps=cfg["max_steps"],
        per_device_train_batch_size=cfg["batch_size"],
        learning_rate=float(cfg["learning_rate"]),
        lr_scheduler_type=cfg["scheduler"],
        warmup_steps=cfg["warmup_steps"],
        weight_decay=cfg["weight_decay"],
        max_grad_norm=cfg["max_grad_norm"],
        # a laptop
        use_cpu=True,
        # what is kept
        logging_steps=3,
        save_strategy="no",
        report_to="none",
    )


def build_trainer(cfg):
    tokenizer = load_tokenizer(cfg)
    rows = load_rows(cfg["train_file"], tokenizer, cfg["classes"])
    trainer = Balanced(
        model=load_model(cfg, tokenizer),
        args=training_config(cfg),
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
    )
    if cfg["balance"]:
        trainer.weights = torch.tensor(class_weights(rows, len(cfg["classes"])))
    return trainer


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
