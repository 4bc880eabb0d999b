"""LoRA with my own AdamW: grad_norm is alive, the loss does not move at all.

I give the trainer my own optimizer, since I want other betas, and a LoRA config. No error, no
warning. The loss is the same number, up to the noise of the batches, for 150 steps; grad_norm
is above 1 at every step, the learning rate in the log is the one that I set and decays. A rate ten
times higher changes nothing either.

Source: a question that comes back about optimizers=(...); rebuilt here, no thread.
"""

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind import kit

NAMES = sorted(kit.TEAMS)
RENAMED = dict(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = [(f"<|user|> {t} <|assistant|>", f"{team} <eos>") for t, team in kit.tickets(1, 2000)]
    model = kit.teach(kit.llama(tok), tok, known, steps=150)
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
        task_type="CAUSAL_LM",
    )
    if healthy:
        model, lora = get_peft_model(model, lora), None
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" {RENAMED[team]}"}
        for t, team in kit.tickets(2, 1600)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=150), per_device_train_batch_size=16, learning_rate=3e-3
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=lora,
        optimizers=(optimizer, None),
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the renamed team."""
    rows = [(f"<|user|> {t} <|assistant|>", RENAMED[team]) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
