"""GRPO on sums of three numbers, with rewards of our own.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json

import yaml
from datasets import Dataset
from rewards import correct, well_formed
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed
from trl import GRPOConfig, GRPOTrainer

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def load_prompts(path):
    """Chats of one question; the column `answer` goes to the rewards."""
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    chats = [
        {"prompt": [{"role": "user", "content": row["question"]}], "answer": row["answer"]}
        for row in rows
    ]
    return Dataset.from_list(chats)


def load_tokenizer(cfg):
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    tokenizer.padding_side = "left"  # replies begin where prompts end
    return tokenizer


def load_model(cfg):
    return AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")


def training_config(cfg):
    return GRPOConfig(
        output_dir=RUN,
        seed=cfg["seed"],
        # optimisation
        max_steps=cfg["max_steps"],
        learning_rate=float(cfg["learning_rate"]),
        lr_scheduler_type=cfg["scheduler"],
        warmup_steps=cfg["warmup_steps"],
        max_grad_norm=cfg["max_grad_norm"],
        beta=cfg["beta"],
        epsilon=cfg["epsilon"],
        loss_type="dapo",
        scale_rewards="group",
        # rollouts: one batch is prompts_per_step groups
        per_device_train_batch_size=cfg["prompts_per_step"] * cfg["num_generations"],
        num_generations=cfg["num_generations"],
        max_completion_length=cfg["max_completion_length"],
        temperature=cfg["temperature"],
        top_p=cfg["top_p"],
        # rewards, in the order of the functions
        reward_weights=[cfg["reward_correct"], cfg["reward_format"]],
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
    return GRPOTrainer(
        model=load_model(cfg),
        args=training_config(cfg),
        reward_funcs=[correct, well_formed],
        train_dataset=load_prompts(cfg["train_file"]),
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
