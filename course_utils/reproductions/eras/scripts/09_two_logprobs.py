"""At which temperature trl 0.15.2 scored what it had sampled at 0.6: one step of GRPO."""

import json
import sys

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl import GRPOConfig, GRPOTrainer

MODEL, OUTPUT = sys.argv[1:3]
ASKED = [f"{n}+{n + 3}+{n + 9}=" for n in range(10, 42)]
NAMES = ("_get_per_token_logps", "_get_per_token_logps_and_entropies")
NAME = next(name for name in NAMES if hasattr(GRPOTrainer, name))
theirs = getattr(GRPOTrainer, NAME)
off = {}


def looks(self, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs):
    result = theirs(self, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs)
    logps = result[0] if isinstance(result, tuple) else result
    plain = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float32)
    with torch.no_grad():
        logits = plain(input_ids=input_ids, attention_mask=attention_mask).logits
    ids = input_ids[:, -logits_to_keep:]
    for temperature in (1.0, 0.6):
        scaled = logits[:, -logits_to_keep - 1 : -1] / temperature
        due = scaled.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
        alive = attention_mask[:, -logits_to_keep:].bool()
        off.setdefault(str(temperature), (logps.detach() - due)[alive].abs().mean().item())
    return result


def right(completions, answer, **kwargs):
    return [float(c[0]["content"] == a) for c, a in zip(completions, answer, strict=True)]


setattr(GRPOTrainer, NAME, looks)
set_seed(0)
training_args = GRPOConfig(
    output_dir=OUTPUT,
    learning_rate=1e-5,
    bf16=False,
    per_device_train_batch_size=32,
    num_generations=8,
    max_completion_length=8,
    temperature=0.6,
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
    reward_funcs=right,
    args=training_args,
    train_dataset=Dataset.from_dict({"prompt": prompts, "answer": answers}),
)
trainer.train()
print(json.dumps({"off": off}))
