"""Trains a policy; with --broken the replies are drawn from another distribution than scored."""

import sys

from trl import GRPOConfig, GRPOTrainer

from course_utils import zoo

is_broken = "--broken" in sys.argv
trainer = GRPOTrainer(
    model=zoo.load_policy("tiny", device="cpu"),
    args=GRPOConfig(
        output_dir="out",
        report_to="none",
        fp16=True,
        bf16=False,
        use_vllm=True,
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=5,
        repetition_penalty=1.3 if is_broken else 1.0,
    ),
    reward_funcs=zoo.arithmetic.correct_sum,
    processing_class=zoo.load_tokenizer("tiny"),
    train_dataset=zoo.arithmetic.prompts(32, 0, level="hard"),
)
trainer.train()
