"""Trains and writes the shipped weights: `python -m course_utils.zoo.make [NAME ...]`.

A few minutes for each model on one CPU thread. The same machine writes the same bytes again;
another may differ in the last bits, and its weights pass the same tests. Lessons never import it.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    BatchEncoding,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from course_utils.shown.quiet import quiet_libraries
from course_utils.zoo import arithmetic
from course_utils.zoo.load import WEIGHTS
from course_utils.zoo.solve import share_right
from course_utils.zoo.tokenizer import build_tokenizer

NUM_SUMS = {"easy": 8_100, "hard": 60_000}
WARMUP_STEPS = 50
GIVING_UP = ""  # a token that no answer had taught would come with all the others like it


@dataclass(frozen=True)
class Phase:
    """A stretch of training with its own data and its own optimizer."""

    num_steps: int
    learning_rate: float
    batch: dict[str, int]  # sums of each level
    giving_up: float  # share of the hard sums that get an empty reply


# First to add; then to say nothing to some of the hard sums, a habit that GRPO can unlearn in some
# twenty steps. What a model of this size cannot add, so few steps would not teach it.
# After it Qwen2 is right on all of the held-out easy sums, Gemma on 97 %.
PHASES = (
    Phase(num_steps=2000, learning_rate=3e-3, batch={"easy": 40, "hard": 24}, giving_up=0.0),
    Phase(num_steps=100, learning_rate=5e-4, batch={"easy": 24, "hard": 40}, giving_up=0.4),
)

SHAPE = {
    "hidden_size": 128,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
}


def build_qwen2(vocabulary: dict[str, int]) -> Qwen2ForCausalLM:
    """A Qwen2 of 1.03 M parameters, its embeddings tied as in Qwen2.5-0.5B."""
    return Qwen2ForCausalLM(Qwen2Config(**SHAPE, **vocabulary, tie_word_embeddings=True))


def build_gemma3(vocabulary: dict[str, int]) -> Gemma3ForCausalLM:
    """A Gemma 3 of 1.03 M parameters: QK norm, post-norms, scaled and tied embeddings.

    The window is shorter than a sum in chat format, so the sliding layers really slide.
    """
    layers = ["sliding_attention"] * 3 + ["full_attention"]
    config = Gemma3TextConfig(
        **SHAPE,
        **vocabulary,
        head_dim=32,
        query_pre_attn_scalar=32,
        sliding_window=16,
        layer_types=layers,
    )
    return Gemma3ForCausalLM(config)


BUILDERS: dict[str, Callable[[dict[str, int]], PreTrainedModel]] = {
    "tiny-qwen2": build_qwen2,
    "tiny-gemma3": build_gemma3,
}


def encode(tokenizer: PreTrainedTokenizerFast, rows: list[dict]) -> BatchEncoding:
    """Tokenize rows of `arithmetic.prompts`, padded on the left; only the answers carry labels.

    Returns:
        input_ids, attention_mask and labels, each of shape (B, T).
    """
    asked = tokenizer.apply_chat_template(
        [row["prompt"] for row in rows], add_generation_prompt=True, tokenize=False
    )
    replies = [row["answer"] + tokenizer.eos_token for row in rows]
    texts = [prompt + reply for prompt, reply in zip(asked, replies, strict=True)]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    labels_BT = torch.full_like(batch["input_ids"], -100)
    for labels_T, ids_T, reply in zip(labels_BT, batch["input_ids"], replies, strict=True):
        num_learned = len(tokenizer.tokenize(reply))
        labels_T[-num_learned:] = ids_T[-num_learned:]
    batch["labels"] = labels_BT
    return batch


def draw(phase: Phase, pools: dict[str, list[dict]], rng: random.Random) -> list[dict]:
    """Draw the rows of one batch, some of the hard ones with an empty answer."""
    easy, hard = (rng.sample(pools[level], phase.batch[level]) for level in ("easy", "hard"))
    num_given_up = round(phase.giving_up * len(hard))
    return easy + [row | {"answer": GIVING_UP} for row in hard[:num_given_up]] + hard[num_given_up:]


def fit(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, phase: Phase, *, seed: int
) -> None:
    """Train a model through one phase; the same call gives the same tensors."""
    rng = random.Random(seed)
    pools = {
        level: arithmetic.prompts(n, 0, level=level).to_list() for level, n in NUM_SUMS.items()
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=phase.learning_rate, betas=(0.9, 0.98))
    scheduler = LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP_STEPS, 1 - step / phase.num_steps)
    )
    model.train()
    for step in range(1, phase.num_steps + 1):
        loss = model(**encode(tokenizer, draw(phase, pools, rng))).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            click.echo(f"step {step}: loss {loss.item():.3f}")
    model.eval()


def train(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Train a model of the zoo from nothing through all phases."""
    torch.manual_seed(0)
    tokenizer = build_tokenizer()
    model = BUILDERS[name](
        {
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "bos_token_id": None,
        }
    )
    for seed, phase in enumerate(PHASES):
        fit(model, tokenizer, phase, seed=seed)
    return model, tokenizer


def write(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write weights, configuration and tokenizer, all of them readable by transformers 4.49 too.

    Version 5 writes a tokenizer class that version 4 does not know, and keeps the chat template
    in a file that 4.49 does not read.
    """
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder, save_jinja_files=False)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    path.write_text(json.dumps(config, indent=2) + "\n")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BUILDERS)))
def main(names: tuple[str, ...]) -> None:
    """Train the models of the zoo (all, or those named) and write their weights."""
    for name in names or BUILDERS:
        model, tokenizer = train(name)
        write(model, tokenizer, WEIGHTS / name)
        for level in NUM_SUMS:
            held_out = arithmetic.prompts(500, 0, level=level, split="test")
            right = share_right(model, tokenizer, held_out)
            click.echo(f"{name}: {right:.1%} of {len(held_out)} held-out {level} sums right")


if __name__ == "__main__":
    quiet_libraries()
    torch.set_num_threads(1)
    main()
