"""DPO with LoRA dies in the first step, deep inside the library.

I load the model, put LoRA on it with get_peft_model, and give the trainer this model and, as the
reference, the model that I had loaded. TypeError: 'NoneType' object is not subscriptable.
With an older version of the library the same script ran, but rewards/* were 0 at every step and
the model was destroyed afterwards. The data are fine, the same rows work without LoRA.

Source: huggingface/trl#652 (2023-08-16), huggingface/trl#1365 (2024-02-26), huggingface/trl#4723
(2025-12-19, which model is the reference under PEFT).
"""

import random

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit


def pairs_of(seed, n):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n, length=5):
        other = rng.choice([t for t in sorted(kit.TEAMS) if t != team])
        prompt = f"<|user|> {text} <|assistant|>"
        yield {"prompt": prompt, "chosen": f" {team}", "rejected": f" {other}"}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    base = kit.teach(kit.llama(tok), tok, [*kit.half_knows(1, 2000)], steps=150)
    base.save_pretrained(f"{folder}/base")
    loaded = AutoModelForCausalLM.from_pretrained(f"{folder}/base")
    lora = LoraConfig(
        r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.0
    )
    torch.manual_seed(34)
    model = get_peft_model(loaded, lora)
    args = DPOConfig(
        **kit.quiet(folder, max_steps=100),
        per_device_train_batch_size=16,
        learning_rate=5e-4,
        beta=0.5,
    )
    return DPOTrainer(
        model=model,
        ref_model=AutoModelForCausalLM.from_pretrained(f"{folder}/base") if healthy else loaded,
        args=args,
        train_dataset=Dataset.from_list([*pairs_of(2, 1000)]),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Mean of p(right) / (p(right) + p(wrong)) over held-out pairs: 0.77 before training."""
    tok, model, shares = trainer.processing_class, trainer.model.eval(), []
    for row in pairs_of(3, 200):
        logits = model(input_ids=tok(row["prompt"], return_tensors="pt")["input_ids"]).logits[0, -1]
        ids = tok.convert_tokens_to_ids([row["chosen"].strip(), row["rejected"].strip()])
        shares.append(logits[ids].softmax(-1)[0].item())
    return sum(shares) / len(shares)
