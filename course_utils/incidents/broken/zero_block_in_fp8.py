"""Weights are quantised to fp8 by blocks for the engine, and one block holds nothing but zeros."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.rl_runs import values, zoo_policy
from course_utils.incidents.runs import Variants

BLOCK, LARGEST = 64, torch.finfo(torch.float8_e4m3fn).max  # 448


def _policy() -> nn.Module:
    """The tiny policy, with a block of neurons pruned: their weights are zeros."""
    model = zoo_policy()
    mlp = model.model.layers[-1].mlp
    with torch.no_grad():
        mlp.gate_proj.weight[-BLOCK:] = 0
        mlp.up_proj.weight[-BLOCK:] = 0
        mlp.down_proj.weight[:, -BLOCK:] = 0
    return model


def _through_fp8(weight: Tensor, least: float) -> Tensor:
    """Each block by a scale of its own, to float8_e4m3fn and back: what a kernel multiplies with.

    Args:
        least: below it no largest value of a block counts; 0 guards nothing.
    """
    rows, columns = weight.shape
    whole = pad(weight, (0, -columns % BLOCK, 0, -rows % BLOCK))
    blocks = whole.unflatten(1, (-1, BLOCK)).unflatten(0, (-1, BLOCK))  # (I, 64, J, 64)
    scale = blocks.abs().amax((1, 3), keepdim=True).clamp(min=least) / LARGEST
    small = (blocks / scale).to(torch.float8_e4m3fn).float() * scale
    return small.flatten(2).flatten(0, 1)[:rows, :columns]


@torch.no_grad()
def _quantise(model: nn.Module, least: float) -> None:
    for name, weight in model.named_parameters():
        if "mlp" in name:  # attention, embedding and head stay as they are
            weight.copy_(_through_fp8(weight, least))


def _build(*, seed: int, least: float) -> Run:
    from course_utils.incidents.two_engines import run_with
    from course_utils.reproductions.lesson_09.engine import Engine

    engine = Engine(change=lambda model: _quantise(model, least), model=_policy())
    engine.generator = torch.default_generator
    return run_with(engine, seed, steps=4, make_model=_policy)


INCIDENT = Incident(
    name="zero_block_in_fp8",
    title="a block of zeros quantised to fp8",
    kind="bad_numbers",
    says="With fp8 rollouts every reply is '!!!!!' and the reward is 0; with bf16 rollouts the "
    "same weights answer well.",
    cause="The scale of a block is its largest value over 448; the weights of "
    "pruned neurons are zeros, so their scale is 0 and 0 / 0 = nan is what the engine gets.",
    fix="Clamp the largest value of a block from below, by 1e-12, before it is made a scale.",
    threads=("slime#2256", "cache-dit#1097", "lmdeploy#3652"),
    rebuilt="The engine is a second copy of the policy; each block of 64 x 64 goes to "
    "float8_e4m3fn and back in float32, as no fp8 kernel runs on a CPU.",
    make=Variants(_build, broken={"least": 0.0}, twin={"least": 1e-12}),
    shows=lambda run: max(values(run, "reward")) == 0,
    causes=("sampler_not_finite",),
    place="weight",
)
