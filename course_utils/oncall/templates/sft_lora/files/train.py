"""Teach the base model to answer sums: SFT with a LoRA adapter, merged at the end.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import yaml
from data import load_chats
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed
from trl import SFTConfig, SFTTrainer

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def load_tokenizer(cfg):
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    tokenizer.padding_side = "right"  # for training; generation pads on the other side
    return tokenizer


def load_model(cfg):
    return AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")


def adapter_config(cfg):
    return LoraConfig(
        r=cfg["lora_r"],
        lora_alpha=cfg["lora_alpha"],
        lora_dropout=cfg["lora_dropout"],
        target_modules=cfg["target_modules"],
        task_type="CAUSAL_LM",
    )


def training_config(cfg):
    return SFTConfig(
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
        # rows
        max_length=cfg["max_length"],
        packing=cfg["packing"],
        completion_only_loss=True,
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
    return SFTTrainer(
        model=load_model(cfg),
        args=training_config(cfg),
        train_dataset=load_chats(cfg["train_file"]),
        processing_class=tokenizer,
        peft_config=adapter_config(cfg),
    )


def export(trainer, cfg):
    """What the server loads: whole weights, the tokenizer, and how to generate."""
    model, tokenizer = trainer.model, trainer.processing_class
    if cfg["merge"]:
        model = model.merge_and_unload()
    model.generation_config = GenerationConfig(
        max_new_tokens=cfg["max_new_tokens"],
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(f"{RUN}/model")
    tokenizer.padding_side = "left"
    tokenizer.save_pretrained(f"{RUN}/model")
    trainer.state.save_to_json(f"{RUN}/trainer_state.json")


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    trainer = build_trainer(cfg)
    trainer.model.print_trainable_parameters()
    trainer.train()
    export(trainer, cfg)
    print(f"done: {trainer.state.global_step} steps, model in {RUN}/model")


if __name__ == "__main__":
    main()
