"""My learning rate drops to zero again and again and jumps back.

Cosine schedule with hard restarts, four cycles. At each restart the rate jumps from 0 to the
full 4e-3, three times in the run; between the cycles the rate is 0 for a moment and nothing is
learnt. Is this how it should look, or is my scheduler stepped wrongly?

Source: rebuilt, no thread.
"""

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind import kit


def make(folder, healthy=False):
    tok = kit.tokenizer()
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" {team} <eos>"}
        for t, team in kit.tickets(2, 2400)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=200, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=32,
        learning_rate=4e-3,
        lr_scheduler_type="cosine_with_restarts",
        lr_scheduler_kwargs={"num_cycles": 4},
        max_length=32,
    )
    return SFTTrainer(
        model=kit.llama(tok, seed=14),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
