"""Cuts planted in a small net are named by cause, module and source line. About 3 s."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_utils.diagnostics import audit_gradients
from course_utils.diagnostics.gradient_flow import Cause, Flow
from course_utils.shown.wrap import wrapped

# The very failure: torch warns where the graph is cut, and the audit has to say more.
pytestmark = pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")


class Net(nn.Module):
    """Three layers whose forward is one of the functions below."""

    def __init__(self, way):
        super().__init__()
        torch.manual_seed(0)
        self.way = way
        self.body, self.block, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.table = nn.Embedding(4, 4)

    def forward(self, x):
        return self.way(self, self.body(x)).sum()


def no_grad_in_the_middle(net, h):
    with torch.no_grad():
        h = net.block(h)
    return net.head(h)


def writes_a_copy(net, h):
    filled = torch.zeros(3, 4)
    filled[:] = h.detach()
    return net.head(filled)


def chooses_and_then_compares(net, h):
    h = net.table(h.argmax(-1))
    return net.head(h) * (h - h.detach()).exp()  # this detach has a live path beside it


def detach_inside_a_reentrant_checkpoint(net, h):
    def run(h):
        return h + net.block(h).detach()

    return net.head(checkpoint(run, h, use_reentrant=True))


def no_grad_inside_a_reentrant_checkpoint(net, h):
    def run(h):
        with torch.no_grad():
            return net.block(h)

    return net.head(h + checkpoint(lambda h: h + run(h), h, use_reentrant=True))


def nothing_left_of_a_reentrant_checkpoint(net, h):
    return net.head(checkpoint(lambda h: net.block(h).detach(), h, use_reentrant=True))


CUTS = {  # way through the net: (cause, module, parameters starved)
    "detach": (lambda net, h: net.head(h.detach()), Cause.DETACH, "", "body"),
    "data": (lambda net, h: net.head(h.data), Cause.DETACH, "", "body"),
    "masked": (lambda net, h: net.head((h > 0) * h.detach()), Cause.DETACH, "", "body"),
    "written into a buffer": (writes_a_copy, Cause.DETACH, "", "body"),
    "argmax": (lambda net, h: net.head(net.table(h.argmax(-1))), Cause.INTEGER, "", "body"),
    "argmax before a live detach": (chooses_and_then_compares, Cause.INTEGER, "", "body"),
    "topk": (lambda net, h: net.head(net.table(h.topk(1).indices)), Cause.INTEGER, "", "body"),
    "item": (lambda net, h: torch.tensor(h.sum().item()), Cause.ESCAPE, "", "body"),
    "no_grad": (no_grad_in_the_middle, Cause.NO_GRAD, "block", "body block"),
    "checkpoint of the input": (
        lambda net, h: net.head(checkpoint(net.block, torch.ones(4), use_reentrant=True)),
        Cause.CHECKPOINT,
        "block",
        "block",
    ),
    "detach in a checkpoint": (detach_inside_a_reentrant_checkpoint, Cause.DETACH, "", "block"),
    "no_grad in a checkpoint": (
        no_grad_inside_a_reentrant_checkpoint,
        Cause.NO_GRAD,
        "block",
        "block",
    ),
    "dead checkpoint": (nothing_left_of_a_reentrant_checkpoint, Cause.DETACH, "", "body block"),
}


@pytest.mark.parametrize(("way", "cause", "module", "starved"), CUTS.values(), ids=CUTS)
def test_a_cut_is_named_by_cause_module_and_the_parameters_it_starves(way, cause, module, starved):
    flow = audit_gradients(Net(way), torch.randn(3, 4))
    assert [(cut.cause, cut.modules) for cut in flow.cuts] == [(cause, (module,))]
    cut_off = {p.name.split(".")[0] for p in flow.parameters if p.flow is Flow.CUT}
    assert cut_off == set(starved.split()) and not flow.is_healthy


def test_the_report_shows_the_source_line_of_the_cut():
    flow = audit_gradients(Net(no_grad_in_the_middle), torch.randn(3, 4))
    assert "test_gradient_flow_cuts.py" in flow.cuts[0].place
    assert "h = net.block(h)" in " ".join(flow.text().split())


def looks_at_a_detached_copy(net, h):
    net.last = float(net.block(h).detach().mean())  # logged, not learned
    return net.head(h)


def starves_only_a_shape(net, h):
    net.head(h)  # the head's result is not used, and its shape and dtype are no values
    return h + torch.zeros_like(net.block(h)) + torch.zeros(3, 4).type_as(net.block(h).detach())


HEALTHY = {
    "importance ratio": lambda net, h: net.head((h - h.detach()).exp() * h),
    "mask from values": lambda net, h: net.head(h * (h > 0)),
    "logged head": looks_at_a_detached_copy,
    "checkpoint": lambda net, h: net.head(checkpoint(net.block, h, use_reentrant=True)),
    "shape and dtype": starves_only_a_shape,
}


@pytest.mark.parametrize("way", HEALTHY.values(), ids=HEALTHY)
def test_values_that_leave_the_graph_beside_a_live_path_raise_no_alarm(way):
    flow = audit_gradients(Net(way), torch.randn(3, 4))
    assert flow.is_healthy and flow.cuts == ()


def test_an_unused_head_is_reported_as_such_and_not_as_a_cut():
    flow = audit_gradients(Net(looks_at_a_detached_copy), torch.randn(3, 4))
    flows = {p.name: p.flow for p in flow.parameters}
    assert flows["block.weight"] is Flow.NO_EFFECT  # it was computed, for nothing
    assert flows["table.weight"] is Flow.UNUSED


def test_sparse_gradients_are_read():
    table = nn.Embedding(4, 2, sparse=True)
    flow = audit_gradients(table, torch.tensor([1]), loss_of=lambda ids: table(ids).sum())
    assert flow.is_healthy and flow.parameters[0].largest_grad == 1


def test_a_gradient_that_is_zero_everywhere_is_not_called_a_cut():
    flow = audit_gradients(Net(lambda net, h: net.head(h) * 0), torch.randn(3, 4))
    assert flow.cuts == () and not flow.is_healthy and flow.count(Flow.ZERO) == 4
    assert "exactly 0" in flow.headline


class Hidden(torch.autograd.Function):
    """Computes where no torch call shows it, as a Triton kernel does."""

    @staticmethod
    def forward(ctx, h):
        return torch.from_numpy(h.numpy() * 2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Open(Hidden):
    """Computes with torch calls, which autograd does not record in here."""

    @staticmethod
    def forward(ctx, h):
        return h * 2


@pytest.mark.parametrize("function", [Hidden, Open])
def test_a_function_with_its_own_derivative_is_not_blamed_for_a_later_detach(function):
    way = lambda net, h: net.head(function.apply(h).detach())  # noqa: E731
    flow = audit_gradients(Net(way), torch.ones(3, 4))
    assert [(cut.cause, cut.operation) for cut in flow.cuts] == [(Cause.DETACH, "detach")]


def test_a_cut_is_seen_through_a_function_whose_inside_is_not_visible():
    flow = audit_gradients(Net(lambda net, h: net.head(Hidden.apply(h.detach()))), torch.ones(3, 4))
    assert [cut.cause for cut in flow.cuts] == [Cause.DETACH]
    assert flow.count(Flow.CUT) == 2  # the body's weight and bias


def test_the_report_reads_as_text_page_and_data():
    flow = audit_gradients(Net(lambda net, h: net.head(h.detach())), torch.randn(3, 4))
    assert flow.to_dict()["cuts"][0]["cause"] == Cause.DETACH
    assert "<table>" in flow.html() and wrapped(flow.headline) in flow.text()
