"""97 % of my labels are -100. Is the data set broken?

Long tickets, and the reply is one word. With the loss on the reply only, two of some sixty tokens
of a row count. The loss of one batch is a mean over 32 tokens and jumps about.

Source: a question of the kind of "labels are almost all -100" in threads on completion_only_loss;
rebuilt here.
"""

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind import kit


def make(folder, healthy=True):
    tok = kit.tokenizer()
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "completion": f" {team}"}
        for t, team in kit.tickets(1, 4000, length=60)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=250), per_device_train_batch_size=16, learning_rate=2e-3
    )
    return SFTTrainer(
        model=kit.llama(tok, seed=43),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def score(trainer, folder):
    """Held-out share of tickets that go to the right team."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=60)]
    return kit.accuracy(trainer.model, trainer.processing_class, rows)
