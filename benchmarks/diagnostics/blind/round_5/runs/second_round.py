"""DPO after my SFT adapter changes nothing.

Step one was an SFT with LoRA, whose adapter I saved. Step two loads the base model, puts the
adapter on it and goes on with DPO on the same adapter. The run goes through without an error.
The loss is 0.6931 in the first line and 0.6931 in the last, rewards and margins are 0, accuracy
is 0. I have tried three learning rates.

Source: huggingface/peft#282 (2023-04-07), huggingface/trl#1311 (2024-02-02),
huggingface/trl#6700 (2026-09-18).
"""

import random

from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit


def adapter(tok, model, folder):
    """The first step: an adapter that has seen replies of which a part is right."""
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=[
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "gate_proj",
            "up_proj",
            "down_proj",
        ],
        task_type="CAUSAL_LM",
    )
    tuned = get_peft_model(model, lora)
    kit.teach(tuned, tok, list(kit.half_knows(1, 1500)), steps=30, lr=1e-3)
    tuned.save_pretrained(f"{folder}/sft")


def base(tok):
    """The model before any fine-tune: it has seen tickets, part of them with the right team."""
    return kit.teach(kit.llama(tok, seed=2), tok, list(kit.half_knows(8, 2000)), steps=160)


def pairs(seed, n):
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    for text, team in kit.tickets(seed, n, length=5):
        other = rng.choice([t for t in teams if t != team])
        yield {
            "prompt": f"<|user|> {text} <|assistant|>",
            "chosen": f" {team} <eos>",
            "rejected": f" {other} <eos>",
        }


def make(folder, healthy=False):
    tok = kit.tokenizer()
    adapter(tok, base(tok), folder)
    model = PeftModel.from_pretrained(base(tok), f"{folder}/sft", is_trainable=healthy)
    model.enable_input_require_grads()
    args = DPOConfig(
        **kit.quiet(folder, max_steps=80, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=16,
        learning_rate=5e-4,
        beta=0.1,
        max_length=32,
    )
    return DPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(list(pairs(2, 1000))),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean of p(right) / (p(right) + p(wrong)) over held-out pairs."""
    tok, shares = trainer.processing_class, []
    for row in pairs(3, 200):
        right, wrong = row["chosen"].split()[0], row["rejected"].split()[0]
        good = kit.belief(trainer.model, tok, [(row["prompt"], right)])
        bad = kit.belief(trainer.model, tok, [(row["prompt"], wrong)])
        shares.append(good / (good + bad))
    return sum(shares) / len(shares)
