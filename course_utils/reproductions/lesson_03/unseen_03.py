"""Two broken runs that no lesson shows, for the last exercise of lesson 03.

Each is a real trainer on the tiny Qwen2, seconds long, with the settings of its ticket. Nothing
here says what is wrong; `course_utils.exercises.lesson_03.unseen` knows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from course_utils import zoo
from course_utils.reproductions.lesson_03.reward_model import dtype_name
from course_utils.zoo import training

CAUSES = {
    "a": "an activation leaves the range of its format in the forward pass",
    "b": "a gradient leaves the range of its format in the backward pass",
    "c": "the optimizer divides by a number that its format rounds to 0",
    "d": "each update is smaller than half the distance to the next number of the format",
    "e": "the weights are well, and only the logged loss is wrong",
    "f": "what should be trained is frozen, so the optimizer never sees it",
    "g": "the learning rate is so large that the weights run away",
}


@dataclass(frozen=True)
class Patient:
    """A broken run: its ticket, and a way to build its trainer as often as you like."""

    causes: ClassVar[dict[str, str]] = CAUSES

    ticket: str
    trainer: Callable  # keyword arguments: dtype, seed, device, callbacks, fields of the config

    def __repr__(self) -> str:
        causes = "\n".join(f"  {letter}) {cause}" for letter, cause in self.causes.items())
        return f"{self.ticket}\n\nWhich cause is it?\n{causes}"


def preference_trainer(
    *, dtype="float16", seed: int = 0, device: str = "auto", callbacks=None, **changes: object
):
    """A DPOTrainer with LoRA on the attention and a trained copy of the output layer.

    Args:
        dtype: of the base model's weights.
        changes: fields of DPOConfig that differ from the ticket's.
    """
    from peft import LoraConfig  # takes seconds, as the next two do
    from transformers import set_seed
    from trl import DPOConfig, DPOTrainer

    set_seed(seed)
    reported = _config(seed, device, max_steps=5, optim="adagrad")
    config = DPOConfig(**(reported | changes))
    adapter = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=["q_proj", "v_proj"],
        modules_to_save=["lm_head"],
        ensure_weight_tying=False,
        task_type="CAUSAL_LM",
    )
    num_pairs = config.max_steps * config.gradient_accumulation_steps
    num_pairs *= config.per_device_train_batch_size
    return DPOTrainer(
        model=zoo.load_policy("tiny", device=device, dtype=dtype_name(dtype)),
        args=config,
        train_dataset=zoo.arithmetic.preferences(num_pairs, seed, rejected="guess", chat=False),
        processing_class=zoo.load_tokenizer("tiny"),
        peft_config=adapter,
        callbacks=callbacks,
    )


def format_trainer(
    *, dtype="bfloat16", seed: int = 0, device: str = "auto", callbacks=None, **changes: object
):
    """An SFTTrainer that teaches the form of a reply, and trains the norms alone.

    Args:
        dtype: of all weights.
        changes: fields of SFTConfig that differ from the ticket's.
    """
    from peft import LNTuningConfig  # takes seconds, as the next two do
    from transformers import set_seed
    from trl import SFTConfig, SFTTrainer

    set_seed(seed)
    shape = dict(max_steps=20, per_device_train_batch_size=4, gradient_accumulation_steps=1)
    reported = _config(seed, device, learning_rate=1e-3, **shape)
    config = SFTConfig(**(reported | changes))
    num_sums = config.max_steps * config.gradient_accumulation_steps
    num_sums *= config.per_device_train_batch_size
    norms = ["input_layernorm", "post_attention_layernorm", "norm"]
    return SFTTrainer(
        model=zoo.load_policy("tiny", device=device, dtype=dtype_name(dtype)),
        args=config,
        train_dataset=zoo.arithmetic.prompts(num_sums, seed).map(_in_words),
        processing_class=zoo.load_tokenizer("tiny"),
        peft_config=LNTuningConfig(task_type="CAUSAL_LM", target_modules=norms),
        callbacks=callbacks,
    )


def _in_words(row: dict) -> dict:
    return {"completion": [{"role": "assistant", "content": f"= {row['answer']}"}]}


def _config(seed: int, device: str, **settings: object) -> dict[str, object]:
    return (
        training.quiet_config()
        | dict(
            learning_rate=1e-5,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=4,
            logging_steps=5,
            optim="adamw_torch",
            bf16=False,
            gradient_checkpointing=False,
            use_cpu=zoo.pick_device(device).type == "cpu",
            seed=seed,
        )
        | settings
    )
