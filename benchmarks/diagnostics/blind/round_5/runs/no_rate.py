"""Adafactor without a learning rate of mine.

I let Adafactor find its own step (relative_step, scaled by the size of the parameters), so I
pass no rate, and there is no warm-up and no decay of the usual kind. TrainingArguments still
shows the default rate that nobody uses, and the logged rate is not that one. Does the model
train at all?

Source: rebuilt, no thread (setting from the documentation of transformers.optimization).
"""

from transformers import (
    DataCollatorWithPadding,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
)
from transformers.optimization import Adafactor, AdafactorSchedule

from benchmarks.diagnostics.blind import kit
from benchmarks.diagnostics.blind.round_5.runs.big_file import rows


def make(folder, healthy=False):
    tok = kit.tokenizer()
    kit.torch.manual_seed(16)
    model = LlamaForSequenceClassification(kit.sizes(tok, num_labels=6))
    chosen = Adafactor(
        model.parameters(), scale_parameter=True, relative_step=True, warmup_init=False, lr=None
    )
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=300),
        per_device_train_batch_size=32,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows(tok, 2, 2400),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        optimizers=(chosen, AdafactorSchedule(chosen)),
    )


def score(trainer, folder):
    """Held-out accuracy."""
    found = trainer.predict(rows(trainer.processing_class, 3, 300))
    return float((found.predictions.argmax(-1) == found.label_ids).mean())
