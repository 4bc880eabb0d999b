"""A base model fine-tuned on sums with SFTTrainer, and what becomes of the end of its replies.

The base is a tiny chat model whose end token is noise again, as a base checkpoint's special tokens
are: it adds, and has never learnt to stop. Nothing here is judged. Shape letters: B row, T token.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import torch
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback, set_seed
from trl import SFTConfig, SFTTrainer

from course_utils import zoo
from course_utils.zoo import training

NUM_ROWS, NUM_STEPS, BATCH_SIZE = 960, 60, 16
NUM_HELD_OUT, HELD_OUT_SEED = 100, 7

Collate = Callable[[list[dict]], dict[str, torch.Tensor]]


def base_model(model: str = "tiny", *, seed: int = 0, device: str = "cpu") -> PreTrainedModel:
    """A chat model with a new random end token: it adds, and does not stop."""
    policy, end = zoo.load_policy(model, device=device), zoo.load_tokenizer(model).eos_token_id
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for embedding in (policy.get_input_embeddings(), policy.get_output_embeddings()):
            row = torch.randn(embedding.weight.shape[1], generator=generator.manual_seed(seed))
            embedding.weight[end] = 0.02 * row.to(embedding.weight)
    return policy


def chats(n: int = NUM_ROWS, seed: int = 0) -> Dataset:
    """Sums with their answers, columns `prompt` and `completion`, as SFTTrainer takes them."""
    drawn = zoo.arithmetic.prompts(n, seed)
    rows = [(row["prompt"], [{"role": "assistant", "content": row["answer"]}]) for row in drawn]
    return Dataset.from_list([{"prompt": asked, "completion": said} for asked, said in rows])


def unlearnt(tokenizer: PreTrainedTokenizerBase, n: int = 32) -> Dataset:
    """Ready-made rows in which no token has a label."""
    ids = tokenizer("17+25=")["input_ids"]
    return Dataset.from_list([{"input_ids": ids, "labels": [-100] * len(ids)}] * n)


def sft_trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    collate: Collate | None = None,
    dataset: Dataset | None = None,
    seed: int = 0,
    callbacks: tuple[TrainerCallback, ...] = (),
    **settings: object,
) -> SFTTrainer:
    """SFTTrainer on `chats`, in float32; `settings` are SFTConfig's and override these."""
    set_seed(seed)
    known = dict(
        max_steps=NUM_STEPS,
        learning_rate=1e-3,
        per_device_train_batch_size=BATCH_SIZE,
        logging_steps=10,
        bf16=False,
        gradient_checkpointing=False,
        use_cpu=model.device.type == "cpu",
        seed=seed,
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(**training.quiet_config() | known | settings),
        processing_class=tokenizer,
        train_dataset=chats(seed=seed) if dataset is None else dataset,
        data_collator=collate,
        callbacks=list(callbacks),
    )


@cache
def prepared(name: str = "tiny", *, seed: int = 0) -> Dataset:
    """The rows of `chats` as SFTTrainer hands them to its collator; tokenized once."""
    tokenizer = zoo.load_tokenizer(name)
    return sft_trainer(zoo.load_policy(name, device="cpu"), tokenizer, seed=seed).train_dataset


@dataclass(frozen=True)
class Behaviour:
    """How a model answers held-out sums, greedily; shares from 0 to 1."""

    stops: float  # the end token came before the limit
    halts: float  # and generation ended with it: nothing but padding stands behind it
    right: float  # the number the reply begins with is the sum
    replies: tuple[str, ...]  # raw, special tokens included, without padding behind the end

    @property
    def both(self) -> float:
        return self.stops * self.right


def behaviour(
    model: PreTrainedModel,
    name: str = "tiny",
    *,
    n: int = NUM_HELD_OUT,
    max_new_tokens: int = 16,
    seed: int = HELD_OUT_SEED,
    side: str = "left",
    mask: bool = True,
    text: Callable[[str], str] = str,
    stop_at: str = "",
    batch_size: int = NUM_HELD_OUT,
    **settings: object,
) -> Behaviour:
    """Let a model answer sums it has not seen, and look at the raw tokens.

    Args:
        side: of the padding; `mask` False reads padding like text.
        text: changes each rendered prompt.
        stop_at: the token at which generation ends; the tokenizer's own end, if none is named.
        batch_size: how many are asked together, padded to one length.
        settings: more of `generate`, such as `stop_strings` or `repetition_penalty`.

    End and padding are given to `generate` by hand: where they are one token, a row that is
    finished and a row that is padded look the same.
    """
    tokenizer = zoo.load_tokenizer(name)
    sums = zoo.arithmetic.prompts(n, seed, split="test")
    asked = tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, tokenize=False
    )
    asked, said = [text(prompt) for prompt in asked], []
    for start in range(0, n, batch_size):
        batch = tokenizer(
            asked[start : start + batch_size],
            padding=True,
            padding_side=side,
            return_tensors="pt",
        ).to(model.device)
        if not mask:
            batch["attention_mask"] = torch.ones_like(batch["input_ids"])
        with evaluating(model):
            whole_BT = model.generate(
                **batch,
                max_new_tokens=max_new_tokens,
                do_sample=False,
                eos_token_id=tokenizer.convert_tokens_to_ids(stop_at or tokenizer.eos_token),
                pad_token_id=tokenizer.pad_token_id,
                tokenizer=tokenizer,  # which stop strings are read with
                **settings,
            )
        said += whole_BT[:, batch["input_ids"].shape[1] :].tolist()
    return read_replies(said, list(sums["answer"]), tokenizer)


def read_replies(
    new: list[list[int]], answers: list[str], tokenizer: PreTrainedTokenizerBase
) -> Behaviour:
    """Count the replies that end and those that begin with their answer."""
    end, pad, said, stops, halts = tokenizer.eos_token_id, tokenizer.pad_token_id, [], [], []
    for ids in new:
        behind = ids[ids.index(end) + 1 :] if end in ids else ids
        stops.append(end in ids)
        halts.append(end in ids and set(behind) <= {pad})
        said.append(tokenizer.decode(ids[: len(ids) - len(behind)] if halts[-1] else ids))
    right = [re.match(r"\d*", s)[0] == a for s, a in zip(said, answers, strict=True)]
    return Behaviour(*(sum(of) / len(of) for of in (stops, halts, right)), tuple(said))


def end_logps(model: PreTrainedModel, name: str = "tiny", *, n: int = 32) -> torch.Tensor:
    """Log-probability of the end right after each of n held-out answers, in nats, shape (n,)."""
    tokenizer, sums = zoo.load_tokenizer(name), zoo.arithmetic.prompts(n, 1, split="test")
    asked = tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, tokenize=False
    )
    said = [prompt + answer for prompt, answer in zip(asked, sums["answer"], strict=True)]
    batch = tokenizer(said, padding=True, return_tensors="pt").to(model.device)  # on the left
    with evaluating(model), torch.no_grad():
        return model(**batch).logits[:, -1].log_softmax(-1)[:, tokenizer.eos_token_id]


class EndWatcher(TrainerCallback):
    """Writes down the mean log-probability of the end, before the run and every few steps."""

    def __init__(self, *, every: int = 10, name: str = "tiny") -> None:
        self._every, self._name = every, name
        self.steps: list[int] = []
        self.logps: list[float] = []

    def _look(self, state, model) -> None:
        self.steps.append(state.global_step)
        self.logps.append(end_logps(model, self._name).mean().item())

    def on_train_begin(self, args, state, control, model, **more) -> None:
        self._look(state, model)

    def on_step_end(self, args, state, control, model, **more) -> None:
        if state.global_step % self._every == 0:
            self._look(state, model)


@contextmanager
def evaluating(model: PreTrainedModel) -> Iterator[None]:
    """In the block, no dropout; afterwards as before."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def losses(trainer: SFTTrainer) -> list[float]:
    """The logged losses of a run, in order."""
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
