"""Lets a model answer sums, and counts the right ones. It never changes the model."""

from typing import TYPE_CHECKING

from course_utils.zoo.arithmetic import is_right

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

BATCH_SIZE = 64


def replies(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    sums: "Dataset",
    *,
    max_new_tokens: int = 8,
    temperature: float = 0.0,
) -> list[str]:
    """Answer the prompts of `arithmetic.prompts`, in left-padded batches.

    Args:
        temperature: 0 is greedy; above it replies are sampled with torch's generator.

    Returns:
        One text for each prompt, without special tokens. Dead weights answer "!!!!!!!!".

    >>> from course_utils.zoo import arithmetic, load_policy, load_tokenizer
    >>> sums = arithmetic.prompts(3, 0, split="test")
    >>> replies(load_policy("tiny"), load_tokenizer("tiny"), sums) == sums["answer"][:]
    True
    """
    texts = tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, tokenize=False
    )
    sampling = {"do_sample": True, "temperature": temperature} if temperature else {}
    answered = []
    for start in range(0, len(texts), BATCH_SIZE):
        batch = tokenizer(texts[start : start + BATCH_SIZE], padding=True, return_tensors="pt")
        output_BT = model.generate(
            **batch.to(model.device),
            **{"max_new_tokens": max_new_tokens, "do_sample": False} | sampling,
        )
        new_BT = output_BT[:, batch["input_ids"].shape[1] :]
        answered += tokenizer.batch_decode(new_BT, skip_special_tokens=True)
    return answered


def share_right(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", sums: "Dataset"
) -> float:
    """Return the share of sums that the model answers right, from 0 to 1.

    >>> from course_utils.zoo import arithmetic, load_policy, load_tokenizer
    >>> sums = arithmetic.prompts(20, 0, split="test")
    >>> share_right(load_policy("tiny"), load_tokenizer("tiny"), sums) > 0.9
    True
    """
    answered = replies(model, tokenizer, sums)
    return sum(map(is_right, answered, sums["answer"])) / len(sums)
