"""TRL 0.12's examples/scripts/reward_modeling.py with the arguments of trl#2367."""

import json
import sys

import torch
from datasets import Dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    HfArgumentParser,
    TrainerCallback,
)
from trl import ModelConfig, RewardConfig, RewardTrainer, get_peft_config

MODEL, OUTPUT = sys.argv[1:3]
REPORTED = f"""
    --model_name_or_path {MODEL}
    --output_dir {OUTPUT}
    --torch_dtype float16
    --per_device_train_batch_size 1
    --gradient_accumulation_steps 32
    --max_steps 27
    --gradient_checkpointing True
    --learning_rate 1.0e-5
    --logging_steps 25
    --max_length 2048
    --use_peft
    --lora_r 32
    --lora_alpha 16
    --lora_task_type SEQ_CLS
    --save_strategy no
    --report_to none
    --disable_tqdm True
    --use_cpu True
""".split()


class LogLastStep(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        control.should_log |= state.global_step == state.max_steps


def train(*changes):
    parser = HfArgumentParser((RewardConfig, ModelConfig))
    training_args, model_config = parser.parse_args_into_dataclasses([*REPORTED, *changes])
    training_args.gradient_checkpointing_kwargs = dict(use_reentrant=False)
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(model_config.model_name_or_path, use_fast=True)
    model = AutoModelForSequenceClassification.from_pretrained(
        model_config.model_name_or_path,
        num_labels=1,
        torch_dtype=getattr(torch, model_config.torch_dtype),
    )
    model.config.pad_token_id = tokenizer.pad_token_id
    pairs = [(f"{n}+{n + 3}=", str(2 * n + 3), str(n * 7 % 1000)) for n in range(10, 74)]
    dataset = Dataset.from_dict(
        {
            "chosen": [ask + right for ask, right, _ in pairs],
            "rejected": [ask + wrong for ask, _, wrong in pairs],
        }
    )
    trainer = RewardTrainer(
        model=model,
        processing_class=tokenizer,
        args=training_args,
        train_dataset=dataset,
        peft_config=get_peft_config(model_config),
        callbacks=[LogLastStep()],
    )
    trainer.train()
    log = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
    head = [p for n, p in trainer.model.named_parameters() if "score" in n and p.requires_grad]
    return {
        "losses": [entry["loss"] for entry in log],
        "grad_norms": [float(entry["grad_norm"]) for entry in log],
        "dead": sum(int((~p.isfinite()).sum()) for p in head),
        "weights": sum(p.numel() for p in head),
    }


one_by_one = ["--logging_steps", "1", "--gradient_accumulation_steps", "1", "--max_steps", "3"]
facts = {
    "as reported": train(),
    "adamw_torch": train(*one_by_one, "--optim", "adamw_torch"),
}
print(json.dumps(facts))
