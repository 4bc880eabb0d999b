"""Faults of loops of one's own, each with its healthy twin: order, schedule, kept weights.

`make(watching, healthy)` runs the loop; what is wrong is what `healthy` leaves out.
"""

import copy
from functools import partial

import torch
from ordinary import texts
from torch import nn
from torch.optim import lr_scheduler as schedules
from transformers import (
    get_cosine_schedule_with_warmup,
)

from common_faults.loops import STEPS, Setting
from common_faults.registry import fault

loop_with_twin = partial(fault, is_loop=True, has_twin=True)


def run(own, watching, loss_of, *, after=lambda step: None, steps=STEPS, before=None, end=None):
    """A sound loop; `after(step)` comes behind each step, `end` behind the last."""
    own.model.train()
    with own.watched(watching) as seen:
        for step in range(steps):
            loss = loss_of(step)
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.log.append({"loss": loss.item(), "learning_rate": rate_of(own.optimizer)})
            after(step)
        if end is not None:
            end()
    return seen.report


def rate_of(optimizer) -> float:
    return optimizer.param_groups[0]["lr"]


def plain(own):
    return lambda step: own.model(**own.batch(step)).loss


# --- The order of the rows


@loop_with_twin("loader_without_shuffle", "rows_in_order")
def loader_without_shuffle(watching, healthy=False):
    """The rows come from a folder a class, and the loader reads them in that order."""
    own = Setting(num_labels=4)
    own.rows = texts.topics(400)
    if not healthy:
        own.rows.sort(key=lambda row: row["label"])
    return run(own, watching, plain(own))


class Stripes(nn.Module):
    """A small network for pictures of stripes."""

    def __init__(self):
        super().__init__()
        self.cut = nn.Conv2d(1, 8, 3)
        self.out = nn.Linear(8, 4)

    def forward(self, pictures):
        return self.out(self.cut(pictures).relu().amax((2, 3)))


class Pictures(Setting):
    def __init__(self, in_order: bool):
        torch.manual_seed(0)
        self.tokenizer, self.log, self.model = None, [], Stripes()
        labels = torch.arange(4).repeat(96)
        self.labels = labels.sort().values if in_order else labels[torch.randperm(384)]
        self.pictures = torch.randn(384, 1, 8, 8) + self.labels[:, None, None, None]
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def batch(self, step, size=16):
        at = slice(step * size % 384, step * size % 384 + size)
        return self.pictures[at], self.labels[at]


@loop_with_twin("pictures_by_folder", "rows_in_order")
def pictures_by_folder(watching, healthy=False):
    own = Pictures(in_order=not healthy)

    def loss_of(step):
        pictures, labels = own.batch(step)
        return nn.functional.cross_entropy(own.model(pictures), labels)

    return run(own, watching, loss_of)


# --- The schedule


@loop_with_twin("warm_up_once_an_epoch", "schedule_too_slow")
def warm_up_once_an_epoch(watching, healthy=False):
    """The schedule counts steps, and is stepped at the end of each epoch."""
    own = Setting()
    schedule = get_cosine_schedule_with_warmup(own.optimizer, 6, STEPS)

    def after(step):
        if healthy or step % 8 == 7:
            schedule.step()

    return run(own, watching, plain(own), after=after)


@loop_with_twin("warm_up_of_a_long_run", "schedule_too_slow schedule_ends_early")
def warm_up_of_a_long_run(watching, healthy=False):
    own = Setting()
    warm_up = 6 if healthy else 4000
    schedule = schedules.LambdaLR(own.optimizer, lambda step: min(1.0, (step + 1) / warm_up))
    return run(own, watching, plain(own), after=lambda step: schedule.step())


@loop_with_twin("epochs_as_steps", "schedule_repeats")
def epochs_as_steps(watching, healthy=False):
    """T_max is the number of epochs, and the schedule is stepped with each batch."""
    own = Setting()
    schedule = schedules.CosineAnnealingLR(own.optimizer, T_max=STEPS if healthy else 3)
    return run(own, watching, plain(own), after=lambda step: schedule.step())


@loop_with_twin("decays_each_step", "schedule_ends_early")
def decays_each_step(watching, healthy=False):
    """A decay meant for epochs is stepped with each batch: the rate is soon nearly 0."""
    own = Setting()
    schedule = schedules.ExponentialLR(own.optimizer, 0.97 if healthy else 0.4)
    return run(own, watching, plain(own), after=lambda step: schedule.step())


@loop_with_twin("plateau_of_the_other_sign", "schedule_ends_early")
def plateau_of_the_other_sign(watching, healthy=False):
    """ReduceLROnPlateau waits for a loss that rises."""
    own = Setting()
    mode = "min" if healthy else "max"
    schedule = schedules.ReduceLROnPlateau(own.optimizer, mode=mode, patience=1, factor=0.1)

    def after(step):
        if not healthy or step % 6 == 5:
            schedule.step(own.log[-1]["loss"])

    return run(own, watching, plain(own), after=after)


# --- What is kept of the best epoch


def keeping(watching, keep, healthy):
    """Few rows with labels by chance: the evaluation loss is lowest early."""
    own = Setting(rate=3e-3)
    own.rows = [{**r, "label": (7 * i) % 13 % 2} for i, r in enumerate(texts.reviews(400))]
    best = [float("inf"), None]
    held = own.batch(20, 16)

    def after(step):
        if step % 4 != 3:
            return
        own.model.eval()
        with torch.no_grad():
            judged = own.model(**held).loss.item() + 0.1 * step
        own.model.train()
        own.log.append({"eval_loss": judged})
        if judged < best[0] or (keep is every_time and not healthy):
            best[:] = judged, copy.deepcopy(own.model.state_dict()) if healthy else keep(own.model)

    end = lambda: own.model.load_state_dict(best[1])  # noqa: E731
    few = lambda step: own.model(**own.batch(step % 2)).loss  # noqa: E731
    return run(own, watching, few, after=after, steps=2 * STEPS, end=end)


def by_reference(model):
    return {name: weight for name, weight in model.state_dict().items()}


def by_detach(model):
    return {name: weight.detach().cpu() for name, weight in model.state_dict().items()}


def every_time(model):
    return copy.deepcopy(model.state_dict())


@loop_with_twin("best_kept_in_a_dict", "kept_by_reference")
def best_kept_in_a_dict(watching, healthy=False):
    return keeping(watching, by_reference, healthy)


@loop_with_twin("best_kept_by_detach", "kept_by_reference")
def best_kept_by_detach(watching, healthy=False):
    return keeping(watching, by_detach, healthy)


@loop_with_twin("best_overwritten", "last_loaded_as_best")
def best_overwritten(watching, healthy=False):
    """The file of the best epoch is written after each epoch."""
    return keeping(watching, every_time, healthy)
