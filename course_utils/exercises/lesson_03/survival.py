"""Exercise 03.4: which combinations of format, optimizer, eps and task survive one step."""

from collections.abc import Callable

import torch

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_03.adamw_step import GRADIENTS

FLOAT16, BFLOAT16, FLOAT32 = torch.float16, torch.bfloat16, torch.float32
ADAMW, FUSED, SGD = "adamw_torch", "adamw_torch_fused", "sgd"


def really_survives(dtype: torch.dtype, optim: str, eps: float, head_trains: bool) -> bool:
    """One real step of the real optimizer on weights of this dtype: are they finite after it?"""
    weight = torch.nn.Parameter(torch.ones(len(GRADIENTS), dtype=dtype))
    weight.grad = torch.tensor(GRADIENTS, dtype=dtype)
    if optim == SGD:
        optimizer = torch.optim.SGD([weight], lr=1e-5)
    else:
        optimizer = torch.optim.AdamW(
            [weight],
            lr=1e-5,
            eps=eps,
            fused=optim == FUSED,
            foreach=False if optim == ADAMW else None,
        )
    if head_trains:
        optimizer.step()
    return bool(weight.isfinite().all())


def _agree(survives, cases) -> str | None:
    for case in cases:
        got, want = survives(*case), really_survives(*case)
        if bool(got) != want:
            dtype, optim, eps, head = case
            named = f"{str(dtype).removeprefix('torch.')}, {optim}, eps {eps:g}"
            state = "trained" if head else "frozen"
            truth = "stays finite" if want else "becomes inf and nan"
            return f"for {named}, head {state}, it says {got}; a real step {truth}"
    return None


def rule_wide_formats(survives) -> str | None:
    optims = [(ADAMW, 1e-8), (ADAMW, 1e-6), (FUSED, 1e-8), (SGD, 1e-8)]
    return _agree(survives, [(d, o, e, True) for d in (FLOAT32, BFLOAT16) for o, e in optims])


def rule_optimizers(survives) -> str | None:
    return _agree(survives, [(FLOAT16, FUSED, 1e-8, True), (FLOAT16, SGD, 1e-8, True)])


def rule_eps(survives) -> str | None:
    # 2.98e-8 is half of the smallest subnormal of float16: just below it rounds to 0.
    sizes = (1e-4, 1e-6, 1e-7, 4e-8, 3.1e-8, 2.9e-8, 2e-8, 1e-8, 1e-12)
    return _agree(survives, [(FLOAT16, ADAMW, eps, True) for eps in sizes])


def rule_frozen(survives) -> str | None:
    return _agree(survives, [(FLOAT16, ADAMW, eps, False) for eps in (1e-8, 1e-6)])


def rule_by_rounding(dtype, optim, eps, head_trains):
    divides_in_dtype = head_trains and optim == ADAMW
    return not divides_in_dtype or torch.tensor(eps).to(dtype).item() > 0


def rule_by_threshold(dtype, optim, eps, head_trains):
    if not head_trains or optim != ADAMW or dtype != FLOAT16:
        return True
    return eps > torch.finfo(FLOAT16).smallest_normal * torch.finfo(FLOAT16).eps / 2


def rule_not_float16(dtype, optim, eps, head_trains):
    return dtype != FLOAT16 or not head_trains


def rule_eps_everywhere(dtype, optim, eps, head_trains):
    return eps > 6e-8 or not head_trains


def rule_smallest_subnormal(dtype, optim, eps, head_trains):
    return rule_by_rounding(dtype, optim, eps, head_trains) and (
        dtype != FLOAT16 or optim != ADAMW or not head_trains or eps >= 5.96e-8
    )


def rule_ignores_frozen(dtype, optim, eps, head_trains):
    return rule_by_rounding(dtype, optim, eps, True)


def rule_only_float32(dtype, optim, eps, head_trains):
    return dtype == FLOAT32 or rule_by_rounding(FLOAT16, optim, eps, head_trains)


RULE = Exercise(
    id="03.4",
    name="RULE",
    title="Which combinations survive?",
    minutes=5,
    difficulty="one expression",
    points=3,
    reads="survives",
    expects=(Callable,),
    hints=(
        "What is eps = 1e-8 once it is a float16? And 3e-8?",
        "Death needs all of it: a trained head, this optimizer, and an eps that its format loses.",
        "torch.tensor(eps, dtype=dtype) > 0 asks the format itself.",
    ),
    criteria=(
        Criterion(
            "float32 and bfloat16 heads survive with every optimizer.",
            rule_wide_formats,
            why="both reach down to 1e-38, where eps and v are at home",
            next="it is the range of the format that counts, not its precision",
        ),
        Criterion(
            "Optimizers that do not divide by a float16 number survive.",
            rule_optimizers,
            why="the fused kernel computes in float32, and SGD does not divide",
            next="which optimizer divides, and in which format does it compute?",
        ),
        Criterion(
            "With AdamW in float16 it is eps that decides, to the last bit.",
            rule_eps,
            why="a number below half of the smallest subnormal rounds to 0",
            next="round eps to the format and look at the result",
        ),
        Criterion(
            "A frozen head survives everything.",
            rule_frozen,
            why="no optimizer touches it",
            next="use head_trains",
        ),
    ),
    right=(rule_by_rounding, rule_by_threshold),
    wrong=(
        Wrong(rule_not_float16, caught_by=rule_optimizers),
        Wrong(rule_eps_everywhere, caught_by=rule_wide_formats),
        Wrong(rule_smallest_subnormal, caught_by=rule_eps),
        Wrong(rule_ignores_frozen, caught_by=rule_frozen),
        Wrong(rule_only_float32, caught_by=rule_wide_formats),
    ),
)
