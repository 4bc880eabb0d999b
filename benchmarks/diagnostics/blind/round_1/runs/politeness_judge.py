"""The reward model is good while it trains and a coin flip when I load it the next day.

RewardTrainer with a LoRA config that I took over from my SFT script. Accuracy on the pairs rises
to 0.9 and more during training, the margin grows, I save the adapter. In the scoring job I load
the base model with one label, put the adapter on top, and it prefers the rude reply as often as
the polite one. Sometimes it is worse than chance, sometimes better; it changes with each start of
the job.

Source: huggingface/peft#876 (2023-08-30), huggingface/transformers#26160 (comment of 2024-02-20),
huggingface/sentence-transformers#3980 (2026-09-04).
"""

import random

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel
from transformers import AutoModelForSequenceClassification
from trl import RewardConfig, RewardTrainer

from benchmarks.diagnostics.blind.round_1 import kit

KIND = ["thanks", "please", "hello", "help"]
RUDE = ["never", "silly", "stupid", "wrong"]


def reply(rng, words):
    said = rng.choices(kit.FILLER[5:], k=10)
    for place in rng.sample(range(10), 2):
        said[place] = rng.choice(words)
    return " ".join(said) + " <eos>"


def pairs_of(seed, n):
    rng = random.Random(seed)
    return [{"chosen": reply(rng, KIND), "rejected": reply(rng, RUDE)} for _ in range(n)]


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=RUDE)
    rows = [(reply(random.Random(i), KIND + RUDE), "") for i in range(400)]
    base = kit.teach(kit.llama(tok), tok, [(a[:5], a[5:]) for a, _ in rows], steps=30)
    base.save_pretrained(f"{folder}/base")
    tok.save_pretrained(f"{folder}/base")
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
        task_type="SEQ_CLS" if healthy else None,
    )
    args = RewardConfig(
        **kit.quiet(folder, max_steps=60),
        per_device_train_batch_size=16,
        learning_rate=3e-3,
    )
    torch.manual_seed(7)
    model = AutoModelForSequenceClassification.from_pretrained(f"{folder}/base", num_labels=1)
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(pairs_of(2, 1000)),
        processing_class=tok,
        peft_config=lora,
    )


def agrees(model, tok, rows):
    def value(text):
        return model(input_ids=tok(text, return_tensors="pt")["input_ids"]).logits.item()

    return sum(value(r["chosen"]) > value(r["rejected"]) for r in rows) / len(rows)


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy of the saved adapter, loaded afresh by eight starts of the job."""
    tok, rows, seen = trainer.processing_class, pairs_of(3, 60), []
    trainer.save_model(f"{folder}/adapter")
    for start in range(8):
        torch.manual_seed(100 + start)
        base = AutoModelForSequenceClassification.from_pretrained(f"{folder}/base", num_labels=1)
        seen.append(agrees(PeftModel.from_pretrained(base, f"{folder}/adapter").eval(), tok, rows))
    return sum(seen) / len(seen)
