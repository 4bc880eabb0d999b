"""My LoRA fine-tune will not use the six tags I defined for my tickets.

I gave the tokenizer one tag per team (`<|billing|>`, `<|login|>`, ...), made room for them in the
model, and fine-tune with LoRA so that it replies with the tag. The base model already knows which
team a ticket belongs to. The loss falls from 4.6 to 2.2 within a few steps and then lies flat, and
whatever I ask, I never get the right tag. More epochs do not help, and a higher rank does not help
either. No error, no warning.

Source: hiyouga/LlamaFactory#6446 (2024-12-25), huggingface/peft#334 (comment of 2025-01-23),
axolotl-ai-cloud/axolotl#1570 (2025-02-24).
"""

from datasets import Dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind.round_1 import kit


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    model = kit.teach(kit.llama(tok), tok, known)
    tok.add_tokens([f"<|{team}|>" for team in kit.TEAMS], special_tokens=True)
    model.resize_token_embeddings(len(tok))
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" <|{team}|>"}
        for t, team in kit.tickets(2, 1200)
    ]
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        modules_to_save=["embed_tokens", "lm_head"] if healthy else None,
        task_type="CAUSAL_LM",
    )
    args = SFTConfig(
        **kit.quiet(folder, max_steps=120),
        per_device_train_batch_size=16,
        learning_rate=3e-3,
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=lora,
    )


def score(trainer, folder):
    """Held-out share of tickets that get the right tag."""
    rows = [(f"<|user|> {t} <|assistant|>", f"<|{team}|>") for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
