"""Two float16 runs that lesson 05 has not shown: tiny Qwens with LoRA, on other trainers.

Each logs loss 0 from its first step, for a reason of its own, and has a float32 twin that differs
in nothing else. They run on the CPU. Judges nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from course_utils import zoo
from course_utils.zoo import training

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel, Trainer

BATCH_SIZE, NUM_STEPS = 8, 3
CAUSES = {
    "a": "the learning rate is too high for float16: a weight grows without limit",
    "b": "the residual stream is too large, from the embedding on",
    "c": "gradients are too small for float16 and become 0",
    "d": "one product inside a single block leaves float16's range",
    "e": "the dot products of attention leave float16's range",
    "f": "a sum over all tokens is kept in float16 and leaves its range",
    "g": "the scaler's first scale is too high: a few steps are lost, then it trains",
}

Fix = Callable[["Trainer"], object]


@dataclass(frozen=True)
class Patient:
    """A broken run: what its owner reports, and the Trainer to look into."""

    causes: ClassVar[dict[str, str]] = CAUSES

    report: str
    build: Callable[..., "Trainer"] = field(repr=False)

    def trainer(self, *, fp16: bool = True, seed: int = 0, fix: Fix | None = None) -> "Trainer":
        """The run's Trainer, not yet trained, after `fix(trainer)`; fp16=False is its twin."""
        trainer = self.build(fp16=fp16, seed=seed)
        if fix is not None:
            fix(trainer)
        return trainer

    def batch(self, trainer: "Trainer") -> dict:
        """The first batch that `trainer` is going to see."""
        return next(iter(trainer.get_train_dataloader()))

    def __repr__(self) -> str:
        causes = "\n".join(f"  {letter}) {cause}" for letter, cause in self.causes.items())
        return f"{self.report}\nWhich cause?\n{causes}"


def loud_channel() -> Patient:
    """An SFT run: one channel of one MLP is loud, and the weights behind it are small.

    What Qwen's large models have by training is put in here: a row of up_proj times 2**12, the
    column of down_proj that reads it divided by as much. In float32 the function is the same.
    """
    return Patient(
        "An SFTTrainer on a Qwen2 with LoRA, on a device without bfloat16. float32 trains. With\n"
        "fp16=True: loss 0, grad_norm nan, from the first step, for every seed.",
        _sft_trainer,
    )


def summed_weights() -> Patient:
    """A run whose loss weighs hard tokens more; the sum that its weights share is in float16."""
    return Patient(
        "A Trainer on a Qwen2 with LoRA, on a device without bfloat16. Its own loss weighs hard\n"
        "tokens more: see trainer.token_weights. float32 trains, and so does fp16=True with a\n"
        "batch of 1. With a batch of 8: loss 0, grad_norm 0, from the first step, any seed.",
        _hard_token_trainer,
    )


def _sft_trainer(*, fp16: bool, seed: int) -> "Trainer":
    from trl import SFTConfig, SFTTrainer  # these take seconds

    from course_utils.zoo.mixed_precision import Float16OnCpu

    class HalfTrainer(Float16OnCpu, SFTTrainer):
        """SFTTrainer, with `fp16=True` obeyed on a CPU too."""

    policy = _seeded_policy(seed)
    _make_a_channel_loud(policy)
    return HalfTrainer(
        model=policy,
        args=SFTConfig(**_settings(fp16=fp16, seed=seed)),
        train_dataset=_sums(BATCH_SIZE * NUM_STEPS, seed),
        processing_class=zoo.load_tokenizer("tiny"),
        peft_config=_lora(),
    )


def _hard_token_trainer(*, fp16: bool, seed: int) -> "Trainer":
    from peft import get_peft_model
    from transformers import DataCollatorForLanguageModeling, TrainingArguments

    tokenizer = zoo.load_tokenizer("tiny")
    texts = [
        tokenizer.apply_chat_template(row["prompt"] + row["completion"], tokenize=False)
        for row in _sums(BATCH_SIZE * NUM_STEPS, seed)
    ]
    return _hard_token_class()(
        model=get_peft_model(_seeded_policy(seed), _lora()),
        args=TrainingArguments(**_settings(fp16=fp16, seed=seed)),
        train_dataset=[tokenizer(text) for text in texts],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )


@cache
def _hard_token_class() -> type:
    import torch  # these take seconds
    from torch.nn.functional import cross_entropy
    from transformers import Trainer

    from course_utils.zoo.mixed_precision import Float16OnCpu

    class HardTokenTrainer(Float16OnCpu, Trainer):
        """Weighs each token's loss by its own cube, so that hard tokens count for more."""

        def token_weights(self, nll_N):
            """A weight for each token, in all 1; `nll_N` are their losses in nats, detached."""
            hard_N = nll_N**3
            return hard_N / hard_N.sum()

        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            outputs = model(**inputs)
            targets = inputs["labels"][:, 1:]
            nll = cross_entropy(outputs.logits[:, :-1].mT, targets, reduction="none")
            nll_N = nll[targets != -100]
            kept_N = nll_N.detach().to(torch.float16 if self.args.fp16 else torch.float32)
            loss = (self.token_weights(kept_N) * nll_N).sum()
            return (loss, outputs) if return_outputs else loss

    return HardTokenTrainer


def _seeded_policy(seed: int) -> "PreTrainedModel":
    from transformers import set_seed

    set_seed(seed)
    return zoo.load_policy("tiny", device="cpu")


def _make_a_channel_loud(policy: "PreTrainedModel") -> None:
    mlp = policy.model.layers[2].mlp
    mlp.up_proj.weight.data[453] *= 2.0**12
    mlp.down_proj.weight.data[:, 453] /= 2.0**12


def _lora():
    from peft import LoraConfig

    return LoraConfig(r=16, task_type="CAUSAL_LM")


def _settings(**changes: object) -> dict:
    reported = dict(
        bf16=False,
        learning_rate=1e-3,
        per_device_train_batch_size=BATCH_SIZE,
        logging_steps=1,
        max_steps=NUM_STEPS,
        gradient_checkpointing=False,
        use_cpu=True,
    )
    return training.quiet_config() | reported | changes


def _sums(n: int, seed: int) -> "Dataset":
    from datasets import Dataset

    rows = zoo.arithmetic.prompts(n, seed)
    replies = [[{"role": "assistant", "content": row["answer"]}] for row in rows]
    return Dataset.from_dict({"prompt": rows["prompt"], "completion": replies})
