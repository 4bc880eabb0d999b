"""The DPO run that several incidents share: sums, and how the policy changes."""

from course_utils import zoo
from course_utils.incidents.declare import Run
from course_utils.incidents.runs import of_trainer
from course_utils.reproductions.lesson_07.never_stops import behaviour
from course_utils.zoo import training

STEPS, PAIRS = 12, 8


def dpo_run(*, seed: int, ref_model=None, pairs=None, **changes: object) -> Run:
    """DPO on wrong digits, every weight trained; `changes` are DPOConfig's."""
    from trl import DPOConfig, DPOTrainer

    settings = dict(
        max_steps=STEPS,
        per_device_train_batch_size=PAIRS,
        learning_rate=1e-5,
        logging_steps=1,
        bf16=False,
        activation_checkpointing=False,
        use_cpu=True,
        seed=seed,
    )
    model = zoo.load_policy("tiny", device="cpu")
    trainer = DPOTrainer(
        model=model,
        ref_model=ref_model,
        args=DPOConfig(**training.quiet_config() | settings | changes),
        train_dataset=zoo.arithmetic.preferences(STEPS * PAIRS, seed) if pairs is None else pairs,
        processing_class=zoo.load_tokenizer("tiny"),
    )
    return of_trainer(trainer, lambda: {"right": behaviour(model, n=32).right})
