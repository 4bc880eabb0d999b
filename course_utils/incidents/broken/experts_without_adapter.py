"""LoRA with the usual seven names on a mixture of experts: no expert has an adapter."""

import torch
from peft import LoraConfig, get_peft_model

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, batches, learns, of_loop, reply_row
from course_utils.zoo.mixtures import mixture

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
SEVEN = (*ATTENTION, "gate_proj", "up_proj", "down_proj")
EXPERTS = ("mlp.experts.gate_up_proj", "mlp.experts.down_proj")
NUM_STEPS, SIZE = 50, 16
NEIGHBOURS = str.maketrans("0123456789", "1032547698")  # what the digits of an answer become
LEARNT = 0.7  # nats per token on held-out sums; 5 before training, and about 1 for a guess of two


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
