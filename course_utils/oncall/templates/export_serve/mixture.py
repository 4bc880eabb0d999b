"""The base of this template, a mixture of experts, and the model that a run exported from it."""

import json
from functools import cached_property

import torch
from safetensors.torch import load, save
from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM

from course_utils.oncall.bases import noisy
from course_utils.oncall.result import MODEL, NothingMade, Result

NUM_EXPERTS, NUM_CHOSEN, OF_SHARED = 4, 2, 8
NOISE = 0.03  # of each matrix, in standard deviations of its weights
HALVES = ("gate_proj", "up_proj", "down_proj")


def base(seed: int) -> dict[str, bytes]:
    """The zoo's tiny model with four noisy copies of each MLP as experts: it adds as before."""
    files = noisy(seed, noise=NOISE)
    config, weights = json.loads(files["config.json"]), load(files["model.safetensors"])
    generator = torch.Generator().manual_seed(seed)
    width = config["hidden_size"]
    shared = {"gate_proj": (OF_SHARED, width), "up_proj": (OF_SHARED, width)}

    def drawn(*shape: int) -> torch.Tensor:
        return 0.02 * torch.randn(shape, generator=generator)

    for at in range(config["num_hidden_layers"]):
        mlp = f"model.layers.{at}.mlp"
        for half in HALVES:
            whole = weights.pop(f"{mlp}.{half}.weight")
            for expert in range(NUM_EXPERTS):
                noise = NOISE * whole.std() * torch.randn(whole.shape, generator=generator)
                weights[f"{mlp}.experts.{expert}.{half}.weight"] = whole + noise
        weights[f"{mlp}.gate.weight"] = drawn(NUM_EXPERTS, width)
        weights[f"{mlp}.shared_expert_gate.weight"] = drawn(1, width)
        for half, shape in shared.items():
            weights[f"{mlp}.shared_expert.{half}.weight"] = drawn(*shape)
        weights[f"{mlp}.shared_expert.down_proj.weight"] = torch.zeros(width, OF_SHARED)
    mixture = {
        "architectures": ["Qwen2MoeForCausalLM"],
        "model_type": "qwen2_moe",
        "num_experts": NUM_EXPERTS,
        "num_experts_per_tok": NUM_CHOSEN,
        "norm_topk_prob": True,
        "moe_intermediate_size": config["intermediate_size"],
        "shared_expert_intermediate_size": OF_SHARED,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    }
    files["config.json"] = json.dumps(config | mixture, indent=2).encode()
    return files | {"model.safetensors": save(weights, {"format": "pt"})}


class Mixture(Result):
    """What a run left, as a mixture of experts; its head may have a tensor of its own."""

    @property
    def config(self) -> Qwen2MoeConfig:
        try:
            is_tied = json.loads(self.files[f"{MODEL}/config.json"])["tie_word_embeddings"]
        except (KeyError, TypeError, ValueError):
            is_tied = True
        own = json.loads(self.base["config.json"])
        return Qwen2MoeConfig(**own | {"tie_word_embeddings": bool(is_tied)})

    @cached_property
    def model(self) -> Qwen2MoeForCausalLM:
        """Loaded as a server would; the tensors are those of the base's architecture, and finite.

        Raises:
            NothingMade: they are not.
        """
        if not all(bool(value.isfinite().all()) for value in self.weights.values()):
            raise NothingMade(f"the weights of {MODEL} are not finite")
        try:
            model, about = Qwen2MoeForCausalLM.from_pretrained(
                None, config=self.config, state_dict=dict(self.weights), output_loading_info=True
            )
        except Exception as error:  # shapes that do not fit, in several kinds
            raise NothingMade(f"{MODEL} cannot be loaded as the base's architecture") from error
        if about["missing_keys"] or about["unexpected_keys"] or about["mismatched_keys"]:
            raise NothingMade(f"the tensors of {MODEL} are not those of the base's architecture")
        return model.eval()
