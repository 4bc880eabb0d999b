"""Exercise 04.7: a change of the run that is checked by training with it."""

import inspect
import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from course_utils.checks.compare import tensor_differs
from course_utils.checks.declare import Criterion, Exercise, not_tested
from course_utils.checks.probes import gradient_of
from course_utils.checks.settings import OverSeeds, both, only, over_seeds, plain
from course_utils.exercises.lesson_04.hooks import hangs_a_hook
from course_utils.exercises.lesson_04.kl import gradient_is_not_k3s, value_is_not_k3
from course_utils.reproductions.lesson_04 import verl_formulas
from course_utils.reproductions.lesson_04.verl_grpo import Settings, VerlGrpo
from course_utils.reproductions.lesson_04.verl_outcomes import MIN_GAIN

# Rollouts for each seed of the check. As reported, the gradient is nan in the 2nd, 3rd and 5th.
ROLLOUTS = {13: 4, 23: 4, 0: 5}
KEYS = (
    "logits_dtype",
    "use_remove_padding",
    "use_kl_loss",
    "kl_loss_coef",
    "kl_loss_type",
    "kl_penalty",
    "masked_mean",
    "may_step",
    "grad_clip",
)
DTYPES = ("float16", "bfloat16", "float32", "float64")
KINDS = ("kl", "abs", "mse", "low_var_kl")
CALLABLES = {  # and the arguments with which the run calls each
    "kl_penalty": ("logprob", "ref_logprob", '"low_var_kl"'),
    "masked_mean": ("values", "mask"),
    "may_step": ("grad_norm",),
}


def bounded_kl(logprob, ref_logprob, kind):
    """k3 with a bound before exp, with the arguments that the loop gives."""
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d) - d - 1


def has_values_that_the_run_takes(fix: dict) -> str | None:
    fix = plain(fix)
    for key, allowed in (("logits_dtype", DTYPES), ("kl_loss_type", KINDS)):
        if key in fix and fix[key] not in allowed:
            return f"{key} is one of {', '.join(allowed)}; you gave {fix[key]!r}"
    for key, value in fix.items():
        if key in CALLABLES and not callable(value):
            return f"{key} is a function; you gave {value!r}"
        if key in CALLABLES and not _takes(value, CALLABLES[key]):
            return f"the run calls {key}({', '.join(CALLABLES[key])}); yours takes {_given(value)}"
        if key in ("use_remove_padding", "use_kl_loss") and not isinstance(value, bool):
            return f"{key} is True or False; you gave {value!r}"
        if key in ("kl_loss_coef", "grad_clip") and not isinstance(value, (int, float)):
            return f"{key} is a number; you gave {value!r}"
    return None


def _takes(function, arguments: tuple[str, ...]) -> bool:
    with suppress(ValueError):  # some built-in functions have no signature
        try:
            inspect.signature(function).bind(*arguments)
        except TypeError:
            return False
    return True


def _given(function) -> str:
    return ", ".join(inspect.signature(function).parameters) or "nothing"


@dataclass(frozen=True)
class Mended:
    """The changes to the run, and the runs with them, one a seed."""

    settings: Settings
    runs: OverSeeds | None  # None: the loss is another, so nothing was trained


def train_with(fix: dict) -> Mended:
    """Prepare the lesson's run with the student's changes; it trains when it is looked at."""
    fix = plain(fix)
    settings = Settings(**fix)
    if _kl_differs(settings) or _mean_differs(settings):
        return Mended(settings, None)

    def train(seed: int) -> VerlGrpo:
        run = VerlGrpo(**fix, seed=seed)
        run.train(ROLLOUTS[seed])
        return run

    return Mended(settings, OverSeeds(train, tuple(ROLLOUTS)))


def _near() -> tuple[Tensor, Tensor]:
    """Log-probs of 4 replies of 16 tokens, up to 2 nats from each other."""
    generator = torch.Generator().manual_seed(0)
    logprob = -3 * torch.rand(4, 16, generator=generator)
    return logprob, logprob + 4 * torch.rand(4, 16, generator=generator) - 2


def _near_and_far() -> tuple[Tensor, Tensor]:
    """As `_near`, with tokens at +15 and -15 nats in every reply."""
    logprob, ref_logprob = _near()
    ref_logprob[:, 3] = logprob[:, 3] + 15
    ref_logprob[:, 8] = logprob[:, 8] - 15
    return logprob, ref_logprob


def _kl_differs(settings: Settings) -> str | None:
    if not settings.use_kl_loss:
        return "use_kl_loss is False, so the loss has no KL"
    if not settings.kl_loss_coef >= 0.001:
        return f"kl_loss_coef is {settings.kl_loss_coef:g}, smaller than the run's 0.001"
    kind = settings.kl_loss_type

    def given_kl(logprob: Tensor, ref_logprob: Tensor) -> Tensor:
        return settings.kl_penalty(logprob, ref_logprob, kind)

    def verls(logprob: Tensor, ref_logprob: Tensor) -> Tensor:
        return verl_formulas.kl_penalty(logprob, ref_logprob, "low_var_kl")

    if seen := value_is_not_k3(given_kl) or gradient_is_not_k3s(given_kl):
        return f"with the kind {kind!r}, kl_penalty is not k3: {seen}"
    for args, others in ((_near(), ""), (_near_and_far(), " beside others of 15")):
        near = f"log-ratios up to 2{others},"
        if seen := _differs_nearby(given_kl, verls, args, near):
            return seen
    return hangs_a_hook(given_kl, _near())


def _differs_nearby(kl, right, args: tuple[Tensor, Tensor], near: str) -> str | None:
    is_far = (args[1] - args[0]).abs() > 2.01
    value, want = kl(*args), right(*args).masked_fill(is_far, 0.0)
    value = value.float().masked_fill(is_far, 0.0) if isinstance(value, Tensor) else value
    loose = dict(rtol=0.02, atol=0.02)
    if seen := tensor_differs(value, want, given=f"{near} in kl_penalty", **loose):
        return seen
    got, problem = gradient_of(kl, args)
    if problem:
        return f"for {near} in kl_penalty {problem}"
    got, want = (one.masked_fill(is_far, 0.0) for one in (got, gradient_of(right, args)[0]))
    return tensor_differs(got, want, given=f"{near} in the gradient of kl_penalty", **loose)


def _mean_differs(settings: Settings) -> str | None:
    values, _ = _near()
    mask = (torch.arange(16) < torch.tensor([[3], [16], [1], [9]])).long()
    got, problem = gradient_of(settings.masked_mean, (values, mask))
    if problem:
        return f"masked_mean: {problem}"
    want, _ = gradient_of(verl_formulas.masked_mean, (values, mask))
    given = "ordinary values, the gradient of masked_mean"
    return tensor_differs(got, want, rtol=0.02, atol=1e-4, given=given)


def kl_is_still_in_the_loss(mended: Mended) -> str | None:
    return _kl_differs(mended.settings)


def means_are_still_means(mended: Mended) -> str | None:
    return _mean_differs(mended.settings)


@over_seeds
def _every_update_counts(run) -> str | None:
    lost = [u for u in run.updates if not (u["stepped"] and math.isfinite(u["actor/grad_norm"]))]
    if not lost:
        return None
    norm, rollout = lost[0]["actor/grad_norm"], lost[0]["step"]
    what = f"{len(lost)} of {len(run.updates)} updates had no finite gradient or were left out"
    first = f"the first in rollout {rollout}, with grad_norm {norm:g}"
    dead = sum(not p.isfinite().all() for p in run.actor.parameters())
    reply = run.steps[-1]["reply"]
    end = f"; {dead} weight tensors hold nan, the last reply is {reply!r}" if dead else ""
    return f"{what}, {first}{end}"


@cache
def _first_score(device: str) -> float:
    run = VerlGrpo(device=device)
    return run.evaluate(run.reference)  # the same for every seed


@over_seeds
def _the_reward_rises(run) -> str | None:
    first, last = _first_score(run.settings.device), run.evaluate()
    if last >= first + MIN_GAIN:
        return None
    return f"of the held-out sums {first:.0%} were right before the run and {last:.0%} after it"


NOT_TRAINED = not_tested("a criterion above is not met")


def every_update_counts(mended: Mended) -> str | None:
    return _every_update_counts(mended.runs) if mended.runs else NOT_TRAINED


def the_reward_rises(mended: Mended) -> str | None:
    return _the_reward_rises(mended.runs) if mended.runs else NOT_TRAINED


FORM = both(only(*KEYS), has_values_that_the_run_takes)

FIX = Exercise(
    id="04.7",
    name="FIX",
    title="Fix the run",
    minutes=8,
    difficulty="one setting",
    points=5,
    reads="fix",
    expects=(dict,),
    form=FORM,
    hints=(
        "Which links of the chain does the gradient pass, and which only the value?",
        "A guard or a masked mean acts after the nan is made. What acts before exp?",
        "One key is enough, and there are three places before exp: what the format can hold, which "
        "positions are computed, and what goes into exp. You wrote the last one in 04.3.",
    ),
    criteria=(
        Criterion(
            "The KL is still k3, in the loss: its coefficient, its value and its gradient.",
            kl_is_still_in_the_loss,
            why="without it nothing holds the policy near its reference; another estimator (kl, "
            "abs, mse) is another loss",
            next="fix the term instead of replacing it or taking it out; at ordinary tokens "
            "nothing changes, whatever values their neighbours have",
        ),
        Criterion(
            "The mean of the tokens still has the gradient of a mean.",
            means_are_still_means,
            why="every part of the loss goes through it",
            next="leave masked_mean as reported, or give it your answer to 04.4",
        ),
        Criterion(
            "In three runs every update has a finite gradient and is taken.",
            every_update_counts,
            why="a nan that is taken ends the policy; one that is skipped is training thrown away",
            next="with grad_norm nan: does the change act before exp, or after it? With a finite "
            "one: what does may_step say to it?",
        ),
        Criterion(
            "The share of right held-out sums rises by 10 points.",
            the_reward_rises,
            why="a run that does not learn does not break either",
            next="fix what the lines above name; if none does, something holds the policy back",
        ),
    ),
    answer={"kl_penalty": bounded_kl},
    run=train_with,
    time_limit_s=180.0,
)
