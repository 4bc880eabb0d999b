"""KTO on the votes of a served log, every weight trained.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import yaml
from policy import read_policy, write_policy
from transformers import set_seed
from trl import KTOConfig, KTOTrainer
from votes import load_feedback

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def kto_config(cfg):
    return KTOConfig(
        output_dir=RUN,
        seed=cfg["seed"],
        # preference
        beta=cfg["beta"],
        desirable_weight=cfg["desirable_weight"],
        undesirable_weight=cfg["undesirable_weight"],
        # optimisation
        max_steps=cfg["max_steps"],
        per_device_train_batch_size=cfg["batch_size"],
        learning_rate=float(cfg["learning_rate"]),
        lr_scheduler_type=cfg["scheduler"],
        warmup_steps=cfg["warmup_steps"],
        max_grad_norm=cfg["max_grad_norm"],
        # rows
        max_length=cfg["max_length"],
        # a small machine
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        logging_steps=2,
        save_strategy="no",
        report_to="none",
    )


def train(cfg):
    model, tokenizer = read_policy(cfg["model"])
    trainer = KTOTrainer(
        model=model,
        args=kto_config(cfg),
        train_dataset=load_feedback(cfg),
        processing_class=tokenizer,
    )
    trainer.train()
    return trainer


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    trainer = train(cfg)
    write_policy(trainer.model, trainer.processing_class, f"{RUN}/model")
    trainer.state.save_to_json(f"{RUN}/trainer_state.json")
    print(f"done: {trainer.state.global_step} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
