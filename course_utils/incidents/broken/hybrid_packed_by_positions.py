"""A hybrid model on packed rows that positions alone keep apart: its linear layers read on."""

import random

import torch
from torch import nn
from transformers import DataCollatorWithFlattening
from transformers.models.qwen3_5 import Qwen3_5ForCausalLM, Qwen3_5TextConfig

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, learns, of_trainer, plain_trainer

NUM_STEPS, SIZE, TURNS, MODULUS = 90, 64, 3, 5
LEARNT = 0.5  # nats per token of held-out rows, each alone; 5.4 before training


def hybrid(vocab_size: int, end: int, seed: int) -> nn.Module:
    """A linear layer and an attention layer, as in Qwen3.5."""
    torch.manual_seed(seed)
    size = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2)
    heads = dict(num_attention_heads=2, num_key_value_heads=2, head_dim=16)
    linear = dict(linear_num_key_heads=2, linear_num_value_heads=2)
    linear |= dict(linear_key_head_dim=16, linear_value_head_dim=16)
    config = Qwen3_5TextConfig(
        vocab_size=vocab_size,
        eos_token_id=end,
        layer_types=["linear_attention", "full_attention"],
        tie_word_embeddings=True,
        **size | heads | linear,
    )
    return Qwen3_5ForCausalLM(config)


def _rows(n: int, seed: int) -> list[Row]:
    """Running totals: a digit, the total modulo 5, the next digit, and so on; totals are learnt."""
    tokenizer, drawn, rows = zoo.load_tokenizer("tiny"), random.Random(seed), []
    digits = [tokenizer.convert_tokens_to_ids(str(digit)) for digit in range(MODULUS)]
    for _ in range(n):
        total, ids, labels = 0, [], []
        for _ in range(TURNS):
            said = drawn.randrange(MODULUS)
            total = (total + said) % MODULUS
            ids += [digits[said], digits[total]]
            labels += [-100, digits[total]]
        end = tokenizer.eos_token_id
        rows.append(([*ids, end], [*labels, end]))
    return rows


def _build(*, seed: int, packed: bool) -> Run:
    tokenizer = zoo.load_tokenizer("tiny")
    model, pad = hybrid(len(tokenizer), tokenizer.eos_token_id, seed), tokenizer.pad_token_id
    trainer = plain_trainer(
        model,
        _rows(SIZE * NUM_STEPS, seed),
        pad,
        seed=seed,
        collate=DataCollatorWithFlattening() if packed else None,
        max_steps=NUM_STEPS,
        learning_rate=9e-3,
        warmup_steps=8,
        lr_scheduler_type="constant_with_warmup",
        per_device_train_batch_size=SIZE,
    )
    held_out = learns(model, _rows(128, seed + 1000), pad)
    return of_trainer(trainer, held_out, tokenizer=tokenizer)


INCIDENT = Incident(
    name="hybrid_packed_by_positions",
    title="a hybrid's linear layers read across packed rows",
    kind="packing",
    says="The loss of the packed run falls as usual, but the model answers single prompts far "
    "worse than one that was trained on padded rows.",
    cause="position_ids that restart keep the rows apart in the attention layers only; the state "
    "and the convolution of the linear layers run on from one row into the next.",
    fix="One row per sequence, padded; or cu_seq_lens_q and seq_idx with the kernels of "
    "flash-linear-attention and causal-conv1d.",
    threads=("ms-swift#9618", "slime#1686", "NeMo-Automodel#2147", "LlamaFactory#10787"),
    make=Variants(_build, broken={"packed": True}, twin={"packed": False}),
    shows=lambda run: run.facts()["loss after"] > LEARNT,
    causes=("packed_state_leak",),
    place="linear_attn",
    lesson="07_never_stops",
)
