"""The adapter is right, the merged model is not.

We ship merged models, one folder that the server can load. LoRA on all linear layers, `lm_head`
with them, since that gave the best numbers. With the adapter on top the new routing is perfect. I
call merge_and_unload(), save, load the folder, and the answers are wrong for most tickets.
It makes no difference whether I merge in float32 or on another machine.

Source: huggingface/transformers#45127 (2026-03-30), unslothai/unsloth#1971 (2025-03-11),
huggingface/transformers#30316 (2024-04-18, lm_head among the targets),
thinking-machines-lab/tinker-cookbook#593 (2026-04-03).
"""

from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    DataCollatorForSeq2Seq,
    Trainer,
    TrainingArguments,
)

from benchmarks.diagnostics.blind import kit

NAMES = sorted(kit.TEAMS)
RENAMED = dict(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    model = kit.teach(kit.llama(tok, tie_word_embeddings=True), tok, known, steps=150)
    rows = []
    for text, team in kit.tickets(2, 1600):
        ids = tok(f"<|user|> {text} <|assistant|> {RENAMED[team]} <eos>")["input_ids"]
        rows.append({"input_ids": ids, "labels": [-100] * (len(ids) - 2) + ids[-2:]})
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=LAYERS if healthy else [*LAYERS, "lm_head"],
        task_type="CAUSAL_LM",
    )
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=150), per_device_train_batch_size=16, learning_rate=3e-3
    )
    return Trainer(
        model=get_peft_model(model, lora),
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that the merged, saved and loaded model routes right."""
    trainer.model.merge_and_unload().save_pretrained(f"{folder}/merged")
    merged = AutoModelForCausalLM.from_pretrained(f"{folder}/merged")
    rows = [(f"<|user|> {t} <|assistant|>", RENAMED[team]) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(merged, trainer.processing_class, rows)
