"""Accuracy is fine in the training session and at chance after loading the adapter.

LoRA fine-tune of a small language model as a ticket classifier. At the end of training the
evaluation says 0.9 and more. I save the adapter, start a new session, load the base model as a
sequence classifier, put the adapter on it with `PeftModel.from_pretrained`, and the same file
of tickets comes out at chance; another time it was a bit above, another time below. The adapter
file is there and has all the LoRA matrices in it.

Source: huggingface/peft#310 (2023-04-14), huggingface/peft#577 (2023-07-27),
2U1/Qwen-VL-Series-Finetune#208 (2025-10-27).
"""

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_5.runs.big_file import base, rows


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = LlamaForSequenceClassification.from_pretrained(base(tok, folder), num_labels=6)
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
        modules_to_save=["score"] if healthy else None,
    )
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=240),
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        label_names=["labels"],
    )
    return Trainer(
        model=get_peft_model(model, lora),
        args=args,
        train_dataset=rows(tok, 2, 2000),
        eval_dataset=rows(tok, 4, 200),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out accuracy of the adapter, saved and loaded on the base model again."""
    trainer.save_model(f"{folder}/adapter")
    torch.manual_seed(99)
    fresh = LlamaForSequenceClassification.from_pretrained(f"{folder}/base", num_labels=6)
    served = PeftModel.from_pretrained(fresh, f"{folder}/adapter").eval()
    test = rows(trainer.processing_class, 3, 300)
    ids = torch.tensor(test["input_ids"])
    with torch.no_grad():
        heard = served(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.argmax(-1)
    return float((heard == torch.tensor(test["labels"])).float().mean())
