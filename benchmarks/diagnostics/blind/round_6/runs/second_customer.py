"""The adapter of the second customer is as if it had not been trained.

One base model, one LoRA for each customer. The adapter of the first is done. I add a second one
to the same model, train on the second customer's tickets (they have other names for our desks),
and save that adapter alone. Training looks as usual: the loss begins high, since the desks are
called differently, and goes to nearly 0. Loaded on the base in the service the second adapter
does nothing, and since then the first customer complains as well.

Source: huggingface/peft#1303 (2023-12-27), huggingface/peft#3580 (2026-08-22),
huggingface/peft#837 (2023-08-18).
"""

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit

PLACES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
DESKS = dict(zip(sorted(kit.TEAMS), [*sorted(kit.TEAMS)[2:], *sorted(kit.TEAMS)[:2]], strict=True))


def lora():
    return LoraConfig(r=16, lora_alpha=32, target_modules=PLACES, task_type="CAUSAL_LM")


def base(tok):
    """A model that can say a team, but has not seen these customers."""
    return kit.teach(kit.llama(tok, seed=3), tok, list(kit.half_knows(8, 2000)), steps=120)


def asked(seed, n, names):
    found = kit.tickets(seed, n)
    return [(f"<|user|> {t} <|assistant|>", f"{names[team]} <eos>") for t, team in found]


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = get_peft_model(base(tok), lora(), adapter_name="north")
    own = {team: team for team in DESKS}
    kit.teach(model, tok, asked(1, 1500, own), steps=40, lr=3e-3)
    model.add_adapter("south", lora())
    if healthy:
        model.set_adapter("south")
    rows = [{"prompt": p, "answer": a} for p, a in asked(2, 2000, DESKS)]
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=160),
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        warmup_steps=10,
        remove_unused_columns=False,
        label_names=["labels"],
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=lambda some: kit.pairs(tok, [(r["prompt"], r["answer"]) for r in some]),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of the second customer's tickets that its saved adapter answers right."""
    tok = trainer.processing_class
    trainer.model.save_pretrained(f"{folder}/service", selected_adapters=["south"])
    torch.manual_seed(77)
    served = PeftModel.from_pretrained(base(tok), f"{folder}/service/south")
    rows = [(prompt, answer.split()[0]) for prompt, answer in asked(3, 200, DESKS)]
    return kit.accuracy(served, tok, rows)
