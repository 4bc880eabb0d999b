"""Faults of loops of one's own, each with its healthy twin: settings, masks, evaluation, modes.

`make(watching, healthy)` runs the loop; what is wrong is what `healthy` leaves out.
"""

from functools import partial

import torch
from torch import nn
from torch.optim import lr_scheduler as schedules

from common_faults.loops import STEPS, Setting
from common_faults.own_loops import plain, run
from common_faults.own_losses import Vectors, mean_of_tokens
from common_faults.registry import fault

loop_with_twin = partial(fault, is_loop=True, has_twin=True)


@loop_with_twin("decay_of_a_hundred", "decay_too_strong")
def decay_of_a_hundred(watching, healthy=False):
    """The rate's and the decay's exponent were exchanged."""
    own = Setting()
    own.optimizer.param_groups[0]["weight_decay"] = 0.1 if healthy else 100
    return run(own, watching, plain(own))


@loop_with_twin("schedule_of_the_optimizer_before", "schedule_of_another_optimizer")
def schedule_of_the_optimizer_before(watching, healthy=False):
    """The optimizer is made again, to leave the norms out of the decay, and the schedule is not."""
    own = Setting()
    schedule = schedules.LinearLR(own.optimizer, 1.0, 0.1, STEPS)
    own.optimizer = torch.optim.AdamW(own.model.parameters(), lr=2e-3)
    if healthy:
        schedule = schedules.LinearLR(own.optimizer, 1.0, 0.1, STEPS)
    return run(own, watching, plain(own), after=lambda step: schedule.step())


@loop_with_twin("schedules_of_two_models", "schedule_of_another_optimizer")
def schedules_of_two_models(watching, healthy=False):
    """A loop trains one of two models; the schedule is of the other one's optimizer."""
    own, other = Setting(), Setting()
    of = own if healthy else other
    schedule = schedules.CosineAnnealingLR(of.optimizer, STEPS)
    return run(own, watching, plain(own), after=lambda step: schedule.step())


@loop_with_twin("mask_of_zeros", "mask_hides_all")
def mask_of_zeros(watching, healthy=False):
    """The mask is made before the rows are padded into it, and never filled."""
    own = Setting()

    def loss_of(step):
        batch = own.batch(step)
        mask = torch.zeros_like(batch["input_ids"])
        if healthy:
            mask[batch["attention_mask"].bool()] = 1
        return own.model(**(batch | {"attention_mask": mask})).loss

    return run(own, watching, loss_of)


@loop_with_twin("cosines_times_a_thousand", "similarity_scaled_too_far")
def cosines_times_a_thousand(watching, healthy=False):
    """A temperature of 0.001 where 0.05 was meant."""
    own = Vectors()
    scale = 20 if healthy else 1000

    def loss_of(step):
        at = step * 16 % 384
        words = [row["text"].split() for row in own.rows[at : at + 16]]
        halves = [[" ".join(w[i::2]) for w in words] for i in (0, 1)]
        first, second = (own.embed(half, mean_of_tokens) for half in halves)
        scores = scale * first @ second.T
        return nn.functional.cross_entropy(scores, torch.arange(len(scores)))

    return run(own, watching, loss_of)


@loop_with_twin("frequent_class_weighs_most", "class_weights_inverted")
def frequent_class_weighs_most(watching, healthy=False):
    """The weights of the classes are their shares, where one over the share was meant."""
    own = Setting()
    rare = [row for row in own.rows if row["label"] == 1]
    own.rows = [row for row in own.rows if row["label"] == 0][:160] + rare[:32]
    own.rows = [own.rows[i] for i in torch.randperm(len(own.rows)).tolist()] * 2
    counts = torch.tensor([160.0, 32.0])
    weight = counts.sum() / counts if healthy else counts / counts.sum()

    def loss_of(step):
        batch = own.batch(step)
        labels = batch.pop("labels")
        return nn.functional.cross_entropy(own.model(**batch).logits, labels, weight=weight)

    return run(own, watching, loss_of)


@loop_with_twin("evaluated_on_what_it_learns", "rows_in_both")
def evaluated_on_what_it_learns(watching, healthy=False):
    """The loader of the evaluation is made from the rows of training."""
    own = Setting()
    tested = own.rows[384:] if healthy else own.rows[:64]
    told = own.tokenizer([row["text"] for row in tested], padding=True, return_tensors="pt")
    labels = torch.tensor([row["label"] for row in tested])

    def evaluate(step):
        if step % 8 != 7:
            return
        own.model.eval()
        with torch.no_grad():
            right = own.model(**told).logits.argmax(-1) == labels
        own.log.append({"eval_accuracy": right.float().mean().item()})
        own.model.train()

    return run(own, watching, plain(own), after=evaluate)


class Patches(nn.Module):
    """Pictures of 8 x 8 by two convolutions with batch norms."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.again = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, pixel_values):
        hidden = self.norm(self.first(pixel_values)).relu()
        return self.head(self.again(self.second(hidden)).relu().mean((2, 3)))


@loop_with_twin("norms_never_in_training_mode", "never_in_training_mode")
def norms_never_in_training_mode(watching, healthy=False):
    """eval() is called when the model is made, and train() nowhere."""
    torch.manual_seed(0)
    model, log = Patches().train(healthy), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    labels = torch.arange(384) % 4
    pixels = torch.randn(384, 1, 8, 8)
    pixels[torch.arange(384), 0, labels * 2] += 2
    order = torch.randperm(384)
    with watching(model, optimizer=optimizer, log=log) as seen:
        for step in range(STEPS):
            rows = order[step * 16 : step * 16 + 16]
            loss = nn.functional.cross_entropy(model(pixel_values=pixels[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.append({"loss": loss.item()})
    return seen.report
