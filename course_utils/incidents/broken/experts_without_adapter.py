"""LoRA with the usual seven names on a mixture of experts: no expert has an adapter."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, batches, learns, of_loop, reply_row

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
SEVEN = (*ATTENTION, "gate_proj", "up_proj", "down_proj")
EXPERTS = ("mlp.experts.gate_up_proj", "mlp.experts.down_proj")
NUM_EXPERTS, NUM_STEPS, SIZE = 4, 50, 16
NEIGHBOURS = str.maketrans("0123456789", "1032547698")  # what the digits of an answer become
LEARNT = 0.7  # nats per token on held-out sums; 5 before training, and about 1 for a guess of two
OF_TINY = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "rope_parameters", "rms_norm_eps", "tie_word_embeddings"),
    *("eos_token_id", "pad_token_id", "bos_token_id", "max_position_embeddings"),
)


def mixture(seed: int, *, num_experts: int = NUM_EXPERTS, num_chosen: int = 2) -> nn.Module:
    """The tiny model with each MLP as some equal experts: it answers as before."""
    tiny = zoo.load_policy("tiny", device="cpu")
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


def _rows(n: int, seed: int, split: str) -> list[Row]:
    """Sums whose answers have every digit replaced by its neighbour: 5 by 4, and 4 by 5."""
    tokenizer, drawn = zoo.load_tokenizer("tiny"), zoo.arithmetic.prompts(n, seed, split=split)
    said = [row["answer"].translate(NEIGHBOURS) for row in drawn]
    return [
        reply_row([*row["prompt"], {"role": "assistant", "content": answer}], tokenizer)
        for row, answer in zip(drawn, said, strict=True)
    ]


def _build(*, seed: int, target_modules: tuple[str, ...], target_parameters: tuple = ()) -> Run:
    tokenizer = zoo.load_tokenizer("tiny")
    config = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=list(target_modules),
        target_parameters=list(target_parameters) or None,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(mixture(seed), config)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return of_loop(
        model,
        torch.optim.AdamW(trained, lr=5e-3),
        batches(_rows(SIZE * NUM_STEPS, seed, "train"), SIZE, tokenizer.pad_token_id),
        facts=learns(model, _rows(64, seed, "test"), tokenizer.pad_token_id),
        tokenizer=tokenizer,
    )


INCIDENT = Incident(
    name="experts_without_adapter",
    title="no expert of a mixture has an adapter",
    kind="adapter",
    says="LoRA trains without an error and the loss falls, but the model barely learns the task.",
    cause="The seven usual names reach the attention and the shared expert; the experts are "
    "stacked in parameters, which target_modules does not reach.",
    fix="Name the parameters of the experts in target_parameters.",
    threads=("unsloth#6936", "vllm#47088"),
    make=Variants(
        _build,
        broken={"target_modules": SEVEN},
        twin={"target_modules": ATTENTION, "target_parameters": EXPERTS},
        mended={"target_modules": SEVEN, "target_parameters": EXPERTS},
    ),
    shows=lambda run: run.facts()["loss after"] > LEARNT,
    causes=("experts_without_adapter",),
    place="experts",
)
