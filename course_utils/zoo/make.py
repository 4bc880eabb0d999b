"""Trains and writes the shipped weights: `python -m course_utils.zoo.make [NAME ...]`.

A few minutes for each model on one CPU thread. The same machine writes the same bytes again;
another may differ in the last bits, and its weights pass the same tests. Lessons never import it.
"""

import json
import random
from collections.abc import Callable
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

from course_utils.quiet import quiet_libraries
from course_utils.zoo import arithmetic
from course_utils.zoo.load import WEIGHTS
from course_utils.zoo.solve import share_right
from course_utils.zoo.tokenizer import build_tokenizer

NUM_STEPS, BATCH_SIZE, LEARNING_RATE, WARMUP_STEPS = 2000, 32, 2e-3, 50
NUM_SUMS = {"easy": 8_000, "hard": 60_000}

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


def encode(tokenizer: PreTrainedTokenizerFast, sums: list[tuple[str, str]]) -> BatchEncoding:
    """Tokenize (prompt, answer) texts, padded on the left; only the answers carry labels.

    Returns:
        input_ids, attention_mask and labels, each of shape (B, T).
    """
    texts = [prompt + answer + tokenizer.eos_token for prompt, answer in sums]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    labels_BT = torch.full_like(batch["input_ids"], -100)
    for row, (_, answer) in enumerate(sums):
        num_learned = len(answer) + 1  # a token for each digit, and the end
        labels_BT[row, -num_learned:] = batch["input_ids"][row, -num_learned:]
    batch["labels"] = labels_BT
    return batch


def train(
    name: str, *, num_steps: int = NUM_STEPS
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Train a model of the zoo on sums in chat format; the same call gives the same tensors."""
    torch.manual_seed(0)
    rng = random.Random(0)
    tokenizer = build_tokenizer()
    model = BUILDERS[name](
        {
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "bos_token_id": None,
        }
    )
    levels = [read_sums(tokenizer, level) for level in NUM_SUMS]
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98))
    scheduler = LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP_STEPS, 1 - step / NUM_STEPS)
    )
    for step in range(num_steps):
        sums = [sum_ for level in levels for sum_ in rng.sample(level, BATCH_SIZE // len(levels))]
        loss = model(**encode(tokenizer, sums)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if step % 100 == 99:
            click.echo(f"{name} step {step + 1}: loss {loss.item():.3f}")
    return model.eval(), tokenizer


def read_sums(tokenizer: PreTrainedTokenizerFast, level: str) -> list[tuple[str, str]]:
    """Return the training sums of a level as (prompt in chat format, answer) texts."""
    sums = arithmetic.prompts(NUM_SUMS[level], 0, level=level)
    texts = tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, tokenize=False
    )
    return list(zip(texts, sums["answer"], strict=True))


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
