"""DPO that begins at 0.9 instead of 0.69.

We add the SFT term on the chosen replies to the DPO loss, so that the chosen replies do not
become less likely. The loss begins well above ln 2 and does not go to 0, and the rewards of the
chosen rise instead of falling. Is the reference wrong, since everybody says that DPO has to
begin at 0.693?

Source: rebuilt, no thread (loss_type with two parts as in the documentation of TRL).
"""

from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_5.runs.second_round import pairs


def make(folder, healthy=False):
    tok = kit.tokenizer()
    known = list(kit.half_knows(1, 2000))
    model = kit.teach(kit.llama(tok, seed=22), tok, known, steps=200)
    model.save_pretrained(f"{folder}/sft")
    model = AutoModelForCausalLM.from_pretrained(f"{folder}/sft")
    args = DPOConfig(
        **kit.quiet(folder, max_steps=80, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=16,
        learning_rate=2e-4,
        beta=0.1,
        loss_type=["sigmoid", "sft"],
        loss_weights=[1.0, 0.5],
        max_length=32,
    )
    return DPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(list(pairs(2, 1280))),
        processing_class=tok,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
