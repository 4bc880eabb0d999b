"""DPO on pairs of sums, every weight trained.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import yaml
from data import load_pairs
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed
from trl import DPOConfig, DPOTrainer

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def load_tokenizer(cfg):
    return AutoTokenizer.from_pretrained(cfg["model"])


def load_model(path):
    return AutoModelForCausalLM.from_pretrained(path, dtype="float32")


def load_reference(cfg):
    """The policy before training; it is not trained."""
    reference = load_model(cfg["model"])
    return reference.eval().requires_grad_(False)


def training_config(cfg):
    return DPOConfig(
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
        # preference
        beta=cfg["beta"],
        loss_type=[cfg["loss_type"]],
        label_smoothing=cfg["label_smoothing"],
        # rows
        max_length=cfg["max_length"],
        # a laptop
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        # what is kept
        logging_steps=1,
        save_strategy="no",
        report_to="none",
    )


def build_trainer(cfg):
    return DPOTrainer(
        model=load_model(cfg["model"]),
        ref_model=load_reference(cfg),
        args=training_config(cfg),
        train_dataset=load_pairs(cfg["train_file"]),
        processing_class=load_tokenizer(cfg),
    )


def export(trainer):
    model, tokenizer = trainer.model, trainer.processing_class
    model.generation_config = GenerationConfig(
        max_new_tokens=8,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(f"{RUN}/model")
    tokenizer.save_pretrained(f"{RUN}/model")
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
