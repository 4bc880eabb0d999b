"""The exported model is much weaker than the adapter that it was made from.

Our server takes plain weights only, so a script of ours adds the LoRA to the base: it reads the
two files that PEFT writes and adds up the matrices. It has served us well with rank 8 and 16
since last year. With the new recipe (rank 64) the model before the export is right in nearly all
tickets, and the export is about as good as the base. No key is missing, all shapes fit.

Source: NVIDIA/TensorRT-LLM#1668 (2024-05-24), huggingface/peft#2733 (2025-08-08),
paiml/aprender#2189 (2026-06-22).
"""

import json
from pathlib import Path

from datasets import Dataset
from peft import LoraConfig
from safetensors.torch import load_file
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind import kit

PLACES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def base(tok):
    return kit.teach(kit.llama(tok, seed=5), tok, list(kit.half_knows(8, 2000)), steps=60)


def strength(config):
    return config["lora_alpha"] / config["r"]


def strength_of_recipe(config):
    return config["lora_alpha"] / (config["r"] ** (0.5 if config["use_rslora"] else 1))


def export(folder, model, strength):
    """Adds the adapter in the folder to the weights of the model."""
    config = json.loads((Path(folder) / "adapter_config.json").read_text())
    found = load_file(Path(folder) / "adapter_model.safetensors")
    weights = model.state_dict()
    for name in [n for n in found if n.endswith("lora_A.weight")]:
        down, up = found[name], found[name.replace("lora_A", "lora_B")]
        place = name.removeprefix("base_model.model.").replace("lora_A.weight", "weight")
        weights[place] += strength(config) * (up @ down)
    return model


def make(folder, healthy=False):
    tok = kit.tokenizer()
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" {team} <eos>"}
        for t, team in kit.tickets(2, 2400)
    ]
    lora = LoraConfig(
        r=64, lora_alpha=16, use_rslora=True, target_modules=PLACES, task_type="CAUSAL_LM"
    )
    args = SFTConfig(
        **kit.quiet(folder, max_steps=140, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        max_length=32,
    )
    trainer = SFTTrainer(
        model=base(tok),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=lora,
    )
    trainer.strength = strength_of_recipe if healthy else strength
    return trainer


def score(trainer, folder):
    """Held-out share of tickets that the exported model sends to the right team."""
    tok = trainer.processing_class
    trainer.save_model(f"{folder}/adapter")
    served = export(f"{folder}/adapter", base(tok), trainer.strength)
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(served, tok, rows)
