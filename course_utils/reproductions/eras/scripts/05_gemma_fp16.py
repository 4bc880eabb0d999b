"""The run of trl#3236: DPO with LoRA on Gemma 3, eager attention, float32 weights, fp16=True."""

import json
import sys

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl import DPOConfig, DPOTrainer

MODEL, OUTPUT = sys.argv[1:3]


class Trainer(DPOTrainer):
    """On a CPU the Trainer does not obey fp16=True; this switches on what it does on CUDA."""

    def create_accelerator_and_postprocess(self):
        super().create_accelerator_and_postprocess()
        if self.args.fp16:
            self.accelerator.native_amp = True
            self.accelerator.scaler = torch.amp.GradScaler("cpu")


def train(**precision):
    set_seed(0)
    model = AutoModelForCausalLM.from_pretrained(
        MODEL, torch_dtype=torch.float32, attn_implementation="eager"
    )
    training_args = DPOConfig(
        output_dir=OUTPUT,
        learning_rate=1e-3,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=4,
        logging_steps=1,
        max_steps=3,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        **precision,
    )
    sums = range(10, 74)
    pairs = {
        "prompt": [f"{n}+{n + 3}=" for n in sums],
        "chosen": [str(2 * n + 3) for n in sums],
        "rejected": [str(2 * n + 4) for n in sums],
    }
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=Dataset.from_dict(pairs),
        processing_class=AutoTokenizer.from_pretrained(MODEL),
        peft_config=LoraConfig(
            r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
        ),
    )
    trainer.train()
    log = [entry for entry in trainer.state.log_history if "loss" in entry]
    weights = [p for n, p in trainer.model.named_parameters() if "lora_B" in n]
    scaler = trainer.accelerator.scaler
    return {
        "losses": [float(entry["loss"]) for entry in log],
        "grad_norms": [float(entry["grad_norm"]) for entry in log],
        "rewards": [float(entry["rewards/chosen"]) for entry in log],
        "moved": sum(bool(p.any()) for p in weights),
        "scale": scaler.get_scale() if scaler else None,
    }


facts = {
    "fp16=True": train(fp16=True),
    "float32": train(bf16=False),
    "bf16=True": train(bf16=True),
}
print(json.dumps(facts))
