"""What exercises ask of a fixed run: both sides agree, and the policy still learns."""

import torch

from course_utils.checks.declare import not_tested
from course_utils.exercises.lesson_09.own_weights import follows, weights_differ
from course_utils.reproductions.lesson_09.two_policies import TwoPolicies

ROUNDING = 1e-4  # nats a token; float32 with and without a cache differ by 1e-7
FIRST, LAST = 3, 4  # rollouts before the first look, and before the second
LEAST_MOVE = 1e-4  # mean |change| of a weight; four steps of 1e-4 move some 3e-4
AT_LEAST = 0.45  # of 128 held-out sums; the policy begins near 0.54


class Mended:
    """A run that is trained as far as the criteria look."""

    def __init__(self, run: TwoPolicies) -> None:
        self.run = run
        self._before = [weight.detach().clone() for weight in run.actor.parameters()]

    def trained(self, num_steps: int) -> TwoPolicies:
        self.run.train(max(0, num_steps - len(self.run.steps)))
        return self.run

    def moved(self) -> float:
        """Mean |change| of the weights so far."""
        pairs = zip(self._before, self.run.actor.parameters(), strict=True)
        moves = torch.cat([(after.detach() - before).abs().flatten() for before, after in pairs])
        return moves.mean().item()


def agrees(mended: Mended) -> str | None:
    """Engine's and trainer's log-probs are the same in every rollout so far."""
    gaps = mended.trained(FIRST).gaps
    if max(gaps) <= ROUNDING:
        return None
    return f"in rollout {gaps.index(max(gaps)) + 1} they differ by {max(gaps):.2g} nats per token"


def unexamined(mended: Mended) -> str | None:
    """Why there is no later rollout to look at, where the sides differ in an early one."""
    seen = agrees(mended)
    return not_tested(seen) if seen else None


def engine_is_its_own(mended: Mended) -> str | None:
    """After a sync the engine holds the policy's weights, and they are not the policy's own."""
    run = mended.trained(LAST)
    run.engine.sync(run.actor)
    model = run.engine.model
    return weights_differ(model, run.actor.state_dict()) or follows(model, run.actor)


def learns(mended: Mended) -> str | None:
    """The weights move, and the policy that is trained does not break."""
    run = mended.trained(LAST)
    if max(run.gaps) > ROUNDING:
        return f"later, in rollout {run.gaps.index(max(run.gaps)) + 1}, the sides differ again"
    if mended.moved() < LEAST_MOVE:
        return f"the weights moved by {mended.moved():.1g} on average: nothing is trained"
    truth = run.held_out(128)
    return (
        None if truth >= AT_LEAST else f"of held-out sums {truth:.2f} are right after {LAST} steps"
    )
