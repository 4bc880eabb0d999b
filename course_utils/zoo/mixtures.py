"""Small mixtures of experts, made of the tiny model; never trained here."""

import torch
from torch import nn
from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM

from course_utils.zoo.load import load_policy

OF_TINY = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "rope_parameters", "rms_norm_eps", "tie_word_embeddings"),
    *("eos_token_id", "pad_token_id", "bos_token_id", "max_position_embeddings"),
)


def mixture(seed: int, *, num_experts: int = 4, num_chosen: int = 2) -> nn.Module:
    """The tiny model with each MLP as some equal experts: it answers as before."""
    tiny = load_policy("tiny", device="cpu")
    config = Qwen2MoeConfig(
        **{name: getattr(tiny.config, name) for name in OF_TINY},
        num_experts=num_experts,
        num_experts_per_tok=num_chosen,
        norm_topk_prob=True,
        moe_intermediate_size=tiny.config.intermediate_size,
        shared_expert_intermediate_size=8,
    )
    torch.manual_seed(seed)
    model = Qwen2MoeForCausalLM(config)
    model.load_state_dict(tiny.state_dict(), strict=False)
    with torch.no_grad():
        for new, old in zip(model.model.layers, tiny.model.layers, strict=True):
            halves = torch.cat([old.mlp.gate_proj.weight, old.mlp.up_proj.weight])
            new.mlp.experts.gate_up_proj.copy_(halves.expand(num_experts, -1, -1))
            new.mlp.experts.down_proj.copy_(old.mlp.down_proj.weight.expand(num_experts, -1, -1))
            new.mlp.shared_expert.down_proj.weight.zero_()
    return model
