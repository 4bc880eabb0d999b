"""Trains on pairs; with --broken both replies of a pair are the same."""

import sys

from trl import DPOConfig, DPOTrainer

from course_utils import zoo

pairs = zoo.arithmetic.preferences(16, 0, rejected="guess")
if "--broken" in sys.argv:
    pairs = pairs.map(lambda row: row | {"rejected": row["chosen"]})
trainer = DPOTrainer(
    model=zoo.load_policy("tiny", device="cpu"),
    args=DPOConfig(output_dir="out", report_to="none"),
    processing_class=zoo.load_tokenizer("tiny"),
    train_dataset=pairs,
)
trainer.train()
