"""A plain torch loop: a small network, no Trainer, no transformers."""

import math
import os

import torch
from torch import nn

from course_utils import diagnostics

from .answers import NAN_CAUSES, causes_of, found_by, is_same, stopped
from .case import FOUND, SILENCE, Group, Seen, first

CASES = Group("loop")


def net(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))


def broken() -> nn.Module:
    """A network with one weight that is not a number."""
    model = net()
    with torch.no_grad():
        model[0].weight[0, 0] = float("nan")
    return model


def batch() -> dict:
    x = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))
    return {"x": x, "y": x[:, :4].argmax(-1)}


def loss_of(model: nn.Module, batch: dict) -> torch.Tensor:
    return nn.functional.cross_entropy(model(batch["x"]), batch["y"])


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.05)


def trained(model: nn.Module, *, steps: int, optimizer_of: nn.Module | None = None) -> Seen:
    """The diagnosis that watched a loop; `optimizer_of` gives another model's weights to SGD."""
    optimizer, log = sgd(optimizer_of or model), []
    inputs = {"batch": batch(), "loss": loss_of, "optimizer": optimizer, "log": log}
    with diagnostics.diagnose.watching(model, **inputs) as run:
        for step in range(1, steps + 1):
            optimizer.zero_grad()
            loss = loss_of(model, batch())
            loss.backward()
            optimizer.step()
            log.append({"step": step, "loss": loss.item()})
    return causes_of(run.report)


@CASES.case("diagnose, healthy", SILENCE)
def diagnose_healthy() -> Seen:
    model = net()
    inputs = {"batch": batch(), "loss": loss_of, "optimizer": sgd(model)}
    return causes_of(diagnostics.diagnose(model, **inputs))


@CASES.case("diagnose, all weights frozen", first("nothing_trainable"))
def diagnose_frozen() -> Seen:
    model = net().requires_grad_(False)
    return causes_of(diagnostics.diagnose(model, batch=batch(), loss=loss_of))


@CASES.case("watching, healthy", SILENCE)
def watching_healthy() -> Seen:
    return trained(net(), steps=8)


@CASES.case("watching, NaN in a weight", first(*NAN_CAUSES))
def watching_nan() -> Seen:
    return trained(broken(), steps=3)


@CASES.case("watching, the optimizer holds another model", first("optimizer_holds_others"))
def watching_other_optimizer() -> Seen:
    return trained(net(), steps=4, optimizer_of=net(3))


def watched(model: nn.Module) -> Seen:
    optimizer = sgd(model)
    loss_of_batch = lambda batch: loss_of(model, batch)  # noqa: E731
    with diagnostics.watch(model, loss_of_batch, then=lambda report: None) as watching:
        for _ in range(3):
            optimizer.zero_grad()
            watching(batch()).backward()
            optimizer.step()
    return found_by(watching.report)


@CASES.case("watch, healthy", SILENCE)
def watch_healthy() -> Seen:
    return watched(net())


@CASES.case("watch, NaN in a weight", FOUND)
def watch_nan() -> Seen:
    return watched(broken())


def guarded(model: nn.Module) -> Seen:
    guard, optimizer = diagnostics.NonFiniteGuard(), sgd(model)

    def train() -> None:
        for step in range(1, 4):
            optimizer.zero_grad()
            loss = loss_of(model, batch())
            loss.backward()
            guard.check(step=step, loss=loss, model=model)
            optimizer.step()

    return stopped(train)


@CASES.case("guard, healthy", SILENCE)
def guard_healthy() -> Seen:
    return guarded(net())


@CASES.case("guard, NaN in a weight", first("stopped"))
def guard_nan() -> Seen:
    return guarded(broken())


@CASES.case("audit_step, healthy", SILENCE)
def audit_step_healthy() -> Seen:
    model = net()
    return causes_of(diagnostics.audit_step(model, batch(), sgd(model), loss=loss_of))


@CASES.case("audit_step, the optimizer holds another model", first("optimizer_holds_others"))
def audit_step_other_optimizer() -> Seen:
    return causes_of(diagnostics.audit_step(net(), batch(), sgd(net(2)), loss=loss_of))


def audited_policy(shift: float = 0.0) -> Seen:
    """Eight completions in two groups; `shift` parts the sampler's log-probs from the policy's."""
    torch.manual_seed(0)
    logps = -torch.rand(8, 5) - 0.1
    return causes_of(
        diagnostics.audit_policy(
            mask=torch.ones(8, 5, dtype=torch.long),
            logps=logps,
            sampler_logps=logps + shift,
            advantages=torch.tensor([1.0, -1.0] * 4),
            group=4,
        )
    )


@CASES.case("audit_policy, healthy", SILENCE)
def audit_policy_healthy() -> Seen:
    return audited_policy()


@CASES.case("audit_policy, the sampler's log-probs differ", FOUND)
def audit_policy_differs() -> Seen:
    return audited_policy(shift=-0.5)


@CASES.case("compare_models, the same", SILENCE)
def compare_same() -> Seen:
    return is_same(diagnostics.compare_models(net(), net()))


@CASES.case("compare_models, another seed", FOUND)
def compare_other() -> Seen:
    return is_same(diagnostics.compare_models(net(), net(1)))


@CASES.case("audit_gradients, a layer's output is detached", first("detached"))
def audit_gradients() -> Seen:
    model = net()
    model[0].register_forward_hook(lambda module, inputs, output: output.detach())
    flow = diagnostics.audit_gradients(model, batch(), loss_of=lambda batch: loss_of(model, batch))
    return Seen([cut.cause.value for cut in flow.cuts])


@CASES.case("profile_ranges, healthy", SILENCE)
def profile_ranges() -> Seen:
    model = net()
    given = {"loss_of": lambda batch: loss_of(model, batch), "optimizer": sgd(model)}
    found = diagnostics.profile_ranges(model, batch(), **given)
    return Seen([] if found.survives("float16") else ["does not survive float16"])


@CASES.case("decode_logged_loss, the filter hid NaN", first("0.7 nats"))
def decode_logged_loss() -> Seen:
    sizes = {"logging_steps": 10, "gradient_accumulation_steps": 8}
    losses = [0.7] * 8 + [math.nan] * 72
    [logged] = diagnostics.simulate_logged_loss(losses, **sizes)
    return Seen([f"{diagnostics.decode_logged_loss(logged, **sizes).mean_loss:.1f} nats"])


@CASES.case("run_in_child, the child kills itself", first("SIGABRT"))
def run_in_child() -> Seen:
    return Seen([diagnostics.run_in_child(os.abort).outcome])


@CASES.case("bisect_config, one setting of two is to blame", first("b"))
def bisect_config() -> Seen:
    def train(config: dict) -> None:
        assert config["b"] == 1

    found = diagnostics.bisect_config({"a": 1, "b": 1}, {"a": 2, "b": 2}, train)
    return Seen([name for cause in found.causes for name in cause])
