"""Exercise 06.12: a run the lesson has not shown; three variants, one fault each."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from peft import LoraConfig, get_peft_model

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, of_the_mend
from course_utils.checks.declare import Criterion
from course_utils.checks.settings import OverSeeds, over_seeds
from course_utils.exercises.lesson_06.gradients import known_warnings_ignored
from course_utils.reproductions.lesson_06 import unseen_06
from course_utils.reproductions.lesson_06.unseen_06 import LORA, Run, Ticket

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class _Variant(Variant):
    """One broken run, and what its mended run reaches on every seed."""

    is_better: Callable[[Run], str | None]
    is_otherwise_the_same: Callable[[Ticket, Callable, int], str | None]


class _Tried(Diagnosis):
    """A diagnosis, and the runs with its mend."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        super().__init__(unseen, variant)
        self.runs = OverSeeds(self._train, SEEDS)

    def _train(self, seed: int) -> Run:
        with known_warnings_ignored():
            return self.variant.ticket.fresh(seed, **{self.place: self.fix}).train()


@of_the_mend
def run_gets_better(tried: _Tried) -> str | None:
    return over_seeds(tried.variant.is_better)(tried.runs)


@of_the_mend
def nothing_else_changes(tried: _Tried) -> str | None:
    for seed in SEEDS:
        with known_warnings_ignored():
            seen = tried.variant.is_otherwise_the_same(tried.variant.ticket, tried.fix, seed)
        if seen:
            return f"{seen} (seed {seed})"
    return None


# --- what a mended run reaches; the broken ones stand still, or near 0.3 in the codec --------


def gap_widens(run: Run) -> str | None:
    rise = run.log[-1]["gap"] - run.log[0]["gap"]
    steps = run.log[-1]["step"]
    return (
        None
        if rise > 0.2
        else f"the gap rises by {rise:.2f} nats in {steps} steps; it should rise by 0.2"
    )


def error_falls(run: Run) -> str | None:
    error, steps = run.log[-1]["squared error"], run.log[-1]["step"]
    return None if error < 0.08 else f"the squared error is {error:.2f} after {steps} steps"


def loss_falls(run: Run) -> str | None:
    first, last = run.log[0]["loss of the replies"], run.log[-1]["loss of the replies"]
    return None if last < 0.7 * first else f"the loss goes from {first:.2f} to {last:.2f} only"


# --- what a mend must leave as it was ---------------------------------------------------------


def _first_gradients(ticket: Ticket, **parts: Callable) -> Callable[[int], dict]:
    def gradients(seed: int) -> dict[str, torch.Tensor | None]:
        run = ticket.fresh(seed, **parts)
        run.loss(run.batch).backward()
        return {name: weight.grad for name, weight in run.model.named_parameters()}

    return gradients


def same_gradients(ticket: Ticket, fix: Callable, seed: int) -> str | None:
    """The critic reads the policy and does not train it, so the first gradients are known."""
    got = _first_gradients(ticket, read_replies=fix)(seed)
    want = _first_gradients(ticket, read_replies=HEALTHY["read_replies"])(seed)
    for name, right in want.items():
        if right is None or not right.any():
            continue
        if got[name] is None:
            return f"{name} gets no gradient"
        apart = ((got[name] - right).norm() / right.norm()).item()
        if apart > 1e-2:
            seen = f"{apart:.0%} away from that of the two terms"
            return f"the gradient of {name} is {seen}; the critic's own loss may reach it"
    return None


def same_codes(_ticket: Ticket, fix: Callable, seed: int) -> str | None:
    """Encoded values lie from -4 to 4; what becomes of others is left open."""
    generator = torch.Generator().manual_seed(seed)
    for shape in ((50, 3), (1, 3), (2, 4, 3)):
        z = 4 * torch.randn(shape, generator=generator).tanh()
        gap = (fix(z) - z.round()).abs().max().item()
        if gap > 1e-5:
            return f"codes of shape {shape} are up to {gap:.2g} away from z.round()"
    return None


def same_steps(ticket: Ticket, fix: Callable, seed: int) -> str | None:
    runs = [ticket.fresh(seed, prepare=each) for each in (fix, HEALTHY["prepare"])]
    thawed = [
        n for n, p in runs[0].model.named_parameters() if p.requires_grad and "lora_" not in n
    ]
    if thawed:
        return f"{len(thawed)} tensors of the base require grad"
    for step in range(1, 6):
        got, want = (run.train(1).log[-1]["loss of the replies"] for run in runs)
        if abs(got - want) > 1e-3 * want:
            return (
                f"after step {step} the loss is {got:.4g}, and {want:.4g} with the adapter, "
                "the optimizer and the learning rate of the run"
            )
    return None


ASKED = Asked(
    id="06.12",
    minutes=12,
    hints=(
        "What gets a gradient of None, what gets one of exactly 0, and what gets one and does "
        "not move? Each of the three points to other causes.",
        "audit_gradients answers the first two. For the third compare the trained weights "
        "before and after run.train(1), and ask what should have moved them.",
        "Take the part whose code does exactly what your letter says. "
        "Change that line, and keep everything that its comment promises.",
    ),
    place_next="run audit_gradients on a fresh run, and read the row that is not 'received'",
    cause_next="tell three cases apart: a gradient of None, one of 0, a weight that no step moves",
    tried=_Tried,
    time_limit_s=120.0,
)
MENDED = (
    Criterion(
        "With your part, the run gets better on three seeds.",
        run_gets_better,
        why="nothing raised before, so an absent error proves nothing",
        next="train a fresh run with your part, and look at its log",
    ),
    Criterion(
        "Everything else of the run stays as it was.",
        nothing_else_changes,
        why="a run that learns something else is not fixed",
        next="keep what the part returns, and what its comment promises",
    ),
)


def reads_with_a_graph(policy, ids):
    read = policy(input_ids=ids, output_hidden_states=True)
    logp = read.logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return logp, read.hidden_states[-1][:, -1].detach()


def rounds_straight_through(z):
    return z + (z.round() - z).detach()


def adapts_first(base):
    model = get_peft_model(base, LoraConfig(**LORA))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


HEALTHY = {
    "read_replies": reads_with_a_graph,
    "quantise": rounds_straight_through,
    "prepare": adapts_first,
}


CRITIC = ASKED.on(
    _Variant(unseen_06.critic_learns_alone(), "read_replies", "c", gap_widens, same_gradients),
    "An unseen run: an actor and its critic",
    mend=reads_with_a_graph,
    mended=MENDED,
)
CODEC = ASKED.on(
    _Variant(unseen_06.encoder_stands_still(), "quantise", "e", error_falls, same_codes),
    "An unseen run: a codec",
    mend=rounds_straight_through,
    mended=MENDED,
)
ADAPTER_RUN = ASKED.on(
    _Variant(unseen_06.adapter_stands_still(), "prepare", "f", loss_falls, same_steps),
    "An unseen run: a new adapter",
    mend=adapts_first,
    mended=MENDED,
    may_change=(0,),
)
UNSEEN = replace(CRITIC, also=(CODEC, ADAPTER_RUN))
