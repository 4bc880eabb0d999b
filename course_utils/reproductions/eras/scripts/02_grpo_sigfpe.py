"""The two configurations of trl#2906 under trl 0.14.0: which matrix products are bfloat16?"""

import json
import os
import sys

import torch
from datasets import Dataset
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl import GRPOConfig, GRPOTrainer

MODEL, OUTPUT = sys.argv[1:3]
PRODUCTS = {getattr(torch.ops.aten, name) for name in ("mm", "addmm", "bmm", "baddbmm")}


class CountProducts(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in PRODUCTS:
            name = str(args[-1].dtype).removeprefix("torch.")
            self.count[name] = self.count.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


def reward_len(completions, **kwargs):
    return [float(len(completion[0]["content"])) for completion in completions]


def long_config(bf16=True):
    return GRPOConfig(
        output_dir=OUTPUT,
        learning_rate=5e-6,
        adam_beta1=0.9,
        adam_beta2=0.99,
        weight_decay=0.1,
        warmup_ratio=0.1,
        lr_scheduler_type="cosine",
        logging_steps=1,
        bf16=bf16,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=4,
        num_generations=16,
        max_prompt_length=256,
        max_completion_length=200,
        num_train_epochs=1,
        save_steps=100,
        max_grad_norm=0.1,
        use_vllm=False,
        max_steps=1,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )


def short_config():
    return GRPOConfig(
        output_dir=OUTPUT,
        logging_steps=10,
        max_steps=1,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )


def train(make_config):
    os.environ.pop("ACCELERATE_MIXED_PRECISION", None)  # bf16=True leaves it behind
    training_args = make_config()
    set_seed(0)
    ask = [[{"role": "user", "content": f"{n}+{n + 3}+{n + 9}="}] for n in range(10, 74)]
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(MODEL),
        processing_class=AutoTokenizer.from_pretrained(MODEL, padding_side="left"),
        reward_funcs=reward_len,
        args=training_args,
        train_dataset=Dataset.from_dict({"prompt": ask}),
    )
    with CountProducts() as products:
        trainer.train()
    return {"bf16": training_args.bf16, "products": products.count}


facts = {
    "long": train(long_config),
    "long, bf16=False": train(lambda: long_config(bf16=False)),
    "short": train(short_config),
}
print(json.dumps(facts))
