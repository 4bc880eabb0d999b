"""Accuracy is fine in training and random after loading the adapter.

I fine-tune a classifier of tickets with LoRA. The evaluation in the same process says 0.9 and more.
Then I save the adapter, load the base model in another process, put the adapter on it and get
about one sixth, that is chance for six teams. The adapter file is there, its keys load without an
error, and merging it or not makes no difference.

Source: 2U1/Qwen-VL-Series-Finetune#208 (2025-10-27), huggingface/peft#310 (2023-04-14),
huggingface/peft#876 (2023-08-30).
"""

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

NAMES = sorted(kit.TEAMS)


def as_rows(tok, pairs):
    ids = tok([t for t, _ in pairs])["input_ids"]
    return Dataset.from_dict({"input_ids": ids, "labels": [NAMES.index(n) for _, n in pairs]})


def classifier(folder, seed):
    torch.manual_seed(seed)
    return LlamaForSequenceClassification.from_pretrained(f"{folder}/base", num_labels=len(NAMES))


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(71, 2000)]
    kit.teach(kit.llama(tok, seed=8), tok, known, steps=60).save_pretrained(f"{folder}/base")
    layers = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=layers,
        task_type="SEQ_CLS" if healthy else None,
    )
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150),
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        warmup_steps=10,
    )
    return Trainer(
        model=get_peft_model(classifier(folder, seed=1), lora),
        args=args,
        train_dataset=as_rows(tok, kit.tickets(72, 1500)),
        eval_dataset=as_rows(tok, kit.tickets(73, 200)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out accuracy of the base model with the saved adapter, loaded afresh."""
    trainer.save_model(f"{folder}/adapter")
    model = PeftModel.from_pretrained(classifier(folder, seed=2), f"{folder}/adapter").eval()
    tok, pairs = trainer.processing_class, kit.tickets(74, 200)
    batch = tok([t for t, _ in pairs], return_tensors="pt", padding=True)
    guess = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    truth = torch.tensor([NAMES.index(n) for _, n in pairs])
    return (guess.argmax(-1) == truth).float().mean().item()
