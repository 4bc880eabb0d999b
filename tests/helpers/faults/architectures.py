"""Thirty-three architectures of transformers at their smallest, random, with a batch and a loss."""

from collections.abc import Callable

import torch
import transformers
from torch import Tensor, nn

SIZES = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}
GROUPED = SIZES | {"num_key_value_heads": 1}
TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
GPT2 = {"vocab_size": 64, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
BART = {
    "vocab_size": 64,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "max_position_embeddings": 64,
} | {
    f"{side}_{part}": size
    for side in ("encoder", "decoder")
    for part, size in (("attention_heads", 2), ("ffn_dim", 32))
}
T5 = {"vocab_size": 64, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
DISTIL = {"vocab_size": 64, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
CONVNEXT = {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "patch_size": 2}
VISION = {"image_size": 8, "patch_size": 4, "num_channels": 3}
IDS = torch.arange(2, 26).view(2, 12)
TEXT = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS), "labels": IDS}
SEQ2SEQ = {"input_ids": IDS, "labels": IDS[:, :5].contiguous()}
PIXELS = torch.linspace(-1, 1, 384).view(2, 3, 8, 8)
IMAGES = {"pixel_values": PIXELS, "labels": torch.tensor([0, 1])}

# Causal language models: the name of their classes, and what differs from TOKENS.
CAUSAL = {
    "Llama": GROUPED,
    "Qwen2": GROUPED,
    "Qwen3": GROUPED | {"head_dim": 8},
    "Mistral": GROUPED,
    "Gemma": GROUPED | {"head_dim": 8},
    "Gemma2": GROUPED | {"head_dim": 8},
    "Phi": GROUPED,
    "Phi3": GROUPED,
    "GPTNeoX": SIZES,
    "GPTJ": GPT2 | {"rotary_dim": 4},
    "OPT": SIZES | {"ffn_dim": 32, "word_embed_proj_dim": 16},
    "Bloom": {"vocab_size": 64, "hidden_size": 16, "n_layer": 2, "n_head": 2},
    "Falcon": SIZES,
    "Mixtral": GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2},
    "Olmo": GROUPED,
    "Olmo2": GROUPED,
    "Cohere": GROUPED,
    "StableLm": GROUPED,
    "Starcoder2": GROUPED,
    "Granite": GROUPED,
    "Mamba": {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4},
    "Mpt": {"vocab_size": 64, "d_model": 16, "n_layers": 2, "n_heads": 2, "max_seq_len": 64},
}


def _causal(name: str, settings: dict) -> tuple[nn.Module, dict]:
    config = getattr(transformers, f"{name}Config")(**TOKENS | settings)
    return getattr(transformers, f"{name}ForCausalLM")(config), TEXT


def _make(name: str, kind: str, batch: dict, **settings) -> tuple[nn.Module, dict]:
    config = getattr(transformers, f"{name}Config")(**settings)
    return getattr(transformers, f"{name}For{kind}")(config), batch


def _gemma3() -> tuple[nn.Module, dict]:
    config = transformers.Gemma3TextConfig(**TOKENS | GROUPED | {"head_dim": 8})
    return transformers.Gemma3ForCausalLM(config), TEXT


def _gpt2() -> tuple[nn.Module, dict]:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**TOKENS | GPT2)), TEXT


OTHERS = {
    "Gemma3": _gemma3,
    "GPT2": _gpt2,
    "T5": lambda: _make("T5", "ConditionalGeneration", SEQ2SEQ, **T5, decoder_start_token_id=0),
    "Bart": lambda: _make("Bart", "ConditionalGeneration", SEQ2SEQ, **BART, **TOKENS),
    "Bert": lambda: _make("Bert", "MaskedLM", TEXT, **SIZES),
    "Roberta": lambda: _make("Roberta", "MaskedLM", TEXT, **SIZES),
    "Deberta": lambda: _make("DebertaV2", "MaskedLM", TEXT, **SIZES),
    "Distilbert": lambda: _make("DistilBert", "MaskedLM", TEXT, **DISTIL),
    "Electra": lambda: _make("Electra", "MaskedLM", TEXT, **SIZES, embedding_size=16),
    "ViT": lambda: _make("ViT", "ImageClassification", IMAGES, **SIZES, **VISION),
    "Convnext": lambda: _make("ConvNext", "ImageClassification", IMAGES, **CONVNEXT),
}
BUILDERS: dict[str, Callable[[], tuple[nn.Module, dict]]] = {
    **{name: (lambda n=name, s=settings: _causal(n, s)) for name, settings in CAUSAL.items()},
    **OTHERS,
}
FORMATS = ("float32", "bfloat16", "bfloat16 autocast")


def build(name: str, fmt: str) -> tuple[nn.Module, dict, Callable[[dict], Tensor]]:
    """A model, its batch, and the loss of a batch as that format computes it."""
    torch.manual_seed(0)
    model, batch = BUILDERS[name]()
    batch = dict(batch)
    if fmt == "bfloat16":
        model = model.bfloat16()
        batch = {k: v.bfloat16() if v.is_floating_point() else v for k, v in batch.items()}

    def loss_of(batch: dict) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in fmt):
            return model(**batch).loss

    return model, batch, loss_of
