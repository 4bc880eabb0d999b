"""Logs of trl#3452 and trl#3857 with trl 0.15.2: one step of GRPO each."""

import json
import sys

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl import GRPOConfig, GRPOTrainer

MODEL, OUTPUT = sys.argv[1:3]
ASKED = [f"{n}+{n + 3}+{n + 9}=" for n in range(10, 74)]


def right(completions, answer, **kwargs):
    return [float(c[0]["content"] == a) for c, a in zip(completions, answer, strict=True)]


def by_prompt(completions, answer, **kwargs):
    return [float(int(a) % 2) for a in answer]


def one_step(reward):
    set_seed(0)
    training_args = GRPOConfig(
        output_dir=OUTPUT,
        learning_rate=1e-5,
        logging_steps=1,
        bf16=False,
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=8,
        temperature=1.0,
        max_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    answers = [str(sum(map(int, question[:-1].split("+")))) for question in ASKED]
    prompts = [[{"role": "user", "content": question}] for question in ASKED]
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float32),
        processing_class=AutoTokenizer.from_pretrained(MODEL),
        reward_funcs=reward,
        args=training_args,
        train_dataset=Dataset.from_dict({"prompt": prompts, "answer": answers}),
    )
    trainer.train()
    log = trainer.state.log_history[0]
    return {name: log.get(name) for name in ("loss", "grad_norm", "reward", "reward_std")}


facts = {
    "healthy": one_step(right),
    "paid by the prompt": one_step(by_prompt),
}
print(json.dumps(facts))
