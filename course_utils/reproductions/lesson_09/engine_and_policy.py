"""An engine and a LoRA policy of the same tiny model, as they stand before the first sync.

Built afresh at each call, always alike. It never syncs.
"""

from functools import cache

import torch
from torch import Tensor, nn

from course_utils import zoo


@cache
def _sums() -> tuple[Tensor, Tensor]:
    """Ids of prompts with their answers, (16, L), and which of them are padding."""
    sums, tokenizer = zoo.arithmetic.prompts(16, 3, level="hard"), zoo.load_tokenizer("tiny")
    texts = tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, tokenize=False
    )
    texts = [text + answer for text, answer in zip(texts, sums["answer"], strict=True)]
    batch = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
    return batch["input_ids"], batch["attention_mask"] == 0


def ids() -> Tensor:
    """The prompts of both sides."""
    return _sums()[0]


def engine() -> nn.Module:
    """The base model, as an engine loads it."""
    return zoo.load_policy("tiny", device="cpu").eval()


def policy() -> nn.Module:
    """The same model with an adapter whose scale is 2 and whose B is 0."""
    from peft import LoraConfig, get_peft_model  # takes seconds

    with torch.random.fork_rng():
        torch.manual_seed(0)
        names = ["q_proj", "v_proj", "down_proj"]
        lora = LoraConfig(r=4, lora_alpha=8, target_modules=names)
        return get_peft_model(zoo.load_policy("tiny", device="cpu"), lora).eval()


def train(model: nn.Module, *, seed: int) -> None:
    """One large step of the adapter on the answers."""
    input_ids, is_padding = _sums()
    labels = input_ids.masked_fill(is_padding, -100)
    adapter = [weight for weight in model.parameters() if weight.requires_grad]
    loss = model(input_ids=input_ids, labels=labels).loss * (1 + seed)
    grads = torch.autograd.grad(loss, adapter)
    with torch.no_grad():
        for weight, grad in zip(adapter, grads, strict=True):
            weight -= 0.02 * grad.sign()
