"""The loss lies flat for the first part of the run. Should I have stopped it?

Two dozen switches in a panel; an alarm says whether an odd number of certain three of them are on,
and the net has to find out the rule from examples. For a third of the run the loss is what one gets
by tossing a coin (0.69). I was about to kill the job and to look for a bug when it fell to nearly
nothing. Nothing was changed in between, each batch is new. Is something broken in my first part?

Source: rebuilt, no thread.
"""

import contextlib

import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

STEPS, BATCH, SWITCHES, WIRED = 600, 128, 24, [2, 9, 15]


class Panel(nn.Module):
    """Two hidden layers over the switches."""

    def __init__(self, width=128):
        super().__init__()
        sizes = [nn.Linear(SWITCHES, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
        self.net = nn.Sequential(*sizes, nn.Linear(width, 2))

    def forward(self, input_values, labels=None):
        logits = self.net(input_values)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def panels(g, n):
    on = torch.randint(2, (n, SWITCHES), generator=g)
    return {"input_values": 2.0 * on - 1.0, "labels": on[:, WIRED].sum(-1) % 2}


@torch.no_grad()
def share(model, data):
    heard = model.eval()(input_values=data["input_values"]).logits.argmax(-1)
    return float((heard == data["labels"]).float().mean())


def train(healthy=False, watch=None):
    torch.manual_seed(91)
    model, g = Panel(), torch.Generator().manual_seed(92)
    held = panels(torch.Generator().manual_seed(4), 500)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, weight_decay=0.01)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.05, 1.0, 20)
    log, batch = [], panels(g, BATCH)
    seen = dict(optimizer=optimizer, batch=batch, tokenizer=None, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        for step in range(1, STEPS + 1):
            model.train()
            loss = model(**panels(g, BATCH)).loss
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            rate = warm.get_last_lr()[0]
            warm.step()
            entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item()}
            log.append(entry | {"learning_rate": rate})
            if step % 60 == 0:
                log.append({"step": step, "eval_accuracy": share(model, held)})
    return model, None, log


def score(outcome, folder):
    """Share of new panels of which the alarm is told right."""
    return share(outcome[0], panels(torch.Generator().manual_seed(5), 1000))
