"""Looks at one backward pass: which weights get no gradient, and where the graph is cut."""

from collections.abc import Mapping
from functools import partial
from inspect import signature

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.added_rows import look_at_added_rows
from course_utils.diagnostics.diagnosis.looks.own_loss import compare_own_loss, loss_later
from course_utils.diagnostics.diagnosis.looks.own_pairs import look_at_own_pairs
from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.measures.heard_losses import HeardLosses, Listening
from course_utils.diagnostics.diagnosis.measures.loss_inputs import LossInputs
from course_utils.diagnostics.diagnosis.measures.losses_given import judge_losses
from course_utils.diagnostics.diagnosis.measures.putting_back import put_back
from course_utils.diagnostics.diagnosis.measures.read_places import ReadPlaces
from course_utils.diagnostics.diagnosis.measures.spread_rows import spread_out
from course_utils.diagnostics.diagnosis.measures.terms_given import judge_terms_of
from course_utils.diagnostics.diagnosis.sheet.faults import (
    FINITE_BEFORE,
    LOSS_OR_LAYER,
    name_error,
    write_fault,
)
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import NUM_ROWS, POLICY, Subject
from course_utils.diagnostics.gradient_flow import audit_gradients
from course_utils.diagnostics.gradient_flow.report import Flow, GradientFlow
from course_utils.diagnostics.loss_kind import may_speak
from course_utils.diagnostics.nonfinite import trace_step
from course_utils.diagnostics.nonfinite.batches import keep
from course_utils.diagnostics.nonfinite.targets import loss_in
from course_utils.diagnostics.nonfinite.values import all_finite
from course_utils.diagnostics.one_step import open_model

ROOT_OF_FLOAT32 = 1.8e19  # a norm sums squares
FEW = 0.5  # of the weights: those that are trained were chosen


def look_at_gradients(subject: Subject, sheet: Sheet) -> None:
    """Run one forward and backward pass on the first rows; take no step."""
    can_learn = subject.trainer is not None or subject.loss_of is not None
    if subject.kind == POLICY or subject.batch is None or not subject.trainable():
        return
    if not can_learn and not has_labels(subject.batch):
        return
    if _makes_its_batch(subject):
        sheet.miss("one backward pass", "the trainer makes its batches in training, from prompts")
        return
    with sheet.trying("one backward pass"), put_back(subject):
        target, loss_of = subject.trainer or subject.model, subject.loss_of
        heard = HeardLosses()
        try:
            with ReadPlaces(subject).listening() as places:
                flow = audit_gradients(target, keep(subject.batch), loss_of=loss_of)
            places.judge(sheet)
            drawn = torch.get_rng_state()
            with LossInputs() as inputs, Listening(heard), heard.passes(subject.model):
                loss = loss_in(open_model(target, loss_of).loss_of(keep(subject.batch)))
        except Exception as error:
            if not name_error(error, subject, sheet):
                raise
            return
        with sheet.trying("the rows of added tokens"):
            look_at_added_rows(loss, subject, sheet)
        if subject.has_own_loss:
            inputs.judge(sheet)
            _judge_own_loss(loss, heard, drawn, subject, sheet)
        if flow.not_finite or (loss is not None and not all_finite(loss)):
            _name_operation(subject, flow, sheet)
        else:
            _judge(subject, flow, sheet)


def _judge_own_loss(
    loss: Tensor | None, heard: HeardLosses, drawn: Tensor, subject: Subject, sheet: Sheet
) -> None:
    judge_losses(heard, subject, sheet)
    with sheet.trying("which rows the loss pushes up"):
        look_at_own_pairs(subject, sheet)
    with sheet.trying("the terms of the loss"):
        judge_terms_of(loss, heard, subject, sheet, later=partial(loss_later, drawn, subject))
    if may_speak(compare_own_loss, subject.loss):
        with sheet.trying("the loss beside the model's own"):
            weighted = any(call.weight is not None for call in heard.calls)
            compare_own_loss(loss, drawn, subject, sheet, is_weighted=weighted)


def _makes_its_batch(subject: Subject) -> bool:
    """Whether the model itself takes none of the collated columns, and the loss is the model's."""
    if subject.trainer is None or not isinstance(subject.batch, Mapping):
        return False
    model = getattr(subject.model, "get_base_model", lambda: subject.model)()
    is_of_model = type(subject.trainer).compute_loss.__module__.startswith("transformers.")
    return is_of_model and not subject.batch.keys() & signature(model.forward).parameters.keys()


def _name_operation(subject: Subject, flow: GradientFlow, sheet: Sheet) -> None:
    """Take the step once more under full tracing: it names the operation, the line and the row."""
    target, loss_of = subject.trainer or subject.model, subject.loss_of
    report = trace_step(target, keep(subject.batch), loss_of)
    if report.found:
        write_fault(report, sheet, subject)
        return
    place, said = next(iter(flow.not_finite), ""), flow.headline
    sheet.find("nan_gradient", MEASURED, said, place=place, why=FINITE_BEFORE, rivals=LOSS_OR_LAYER)


def _judge(subject: Subject, flow: GradientFlow, sheet: Sheet) -> None:
    """Judge which weights the gradient reaches.

    Weights outside the forward pass are a fault where DDP waits for them, or where the trained
    ones were chosen; models of libraries have some, and layer drop makes some.
    """
    total = len(flow.parameters)
    if not flow.loss_has_graph:
        place = flow.cuts[0].where if flow.cuts else ""
        sheet.find("no_grad_fn", COUNTED, flow.headline, place=place)
    elif flow.cuts:
        lost = flow.count(Flow.CUT)
        weight = COUNTED if lost > total / 2 else MEASURED
        said = (flow.headline, f"first in {flow.cuts[0].operation}, {flow.cuts[0].place}")
        cut = f"the graph is cut: {lost} of {total} trainable tensors get no gradient"
        where, fix = flow.cuts[0].where, flow.fix
        sheet.find("weight_without_gradient", weight, *said, place=where, why=cut, advice=fix)
    elif stuck := _stuck(subject, flow):
        said = f"the gradient of {len(stuck)} of {total} tensors is 0 and stays 0"
        why = "trainable weights have a gradient of exactly 0"
        sheet.find("weight_without_gradient", MEASURED, said, place=stuck[0], why=why)
    elif unused := [p.name for p in flow.parameters if p.flow in (Flow.UNUSED, Flow.NO_EFFECT)]:
        said = f"{len(unused)} of {total} trainable tensors take no part, such as {unused[0]}"
        weight = MEASURED if subject.processes > 1 else LIKELY - 2
        if subject.processes > 1 or (flow.num_frozen and _were_chosen(unused, subject)):
            sheet.find("unused_parameters", weight, said, place=unused[0])
        else:
            sheet.show("one backward pass", said)
            subject.idle = frozenset(unused)
    elif (largest := _largest(flow))[0] > ROOT_OF_FLOAT32:
        said = f"the largest gradient is {largest[0]:.2g}, and float32 cannot hold its square"
        sheet.find("norm_overflows", MEASURED, said, place=largest[1])
    elif received := flow.count(Flow.RECEIVED):
        waiting = flow.count(Flow.WAITING)
        more = f", {waiting} wait for their lora_B, which starts at 0" if waiting else ""
        sheet.clear("one backward pass", f"{received} of {total} tensors get a gradient{more}")
        if subject.has_own_loss and sheet.withdraw("labels_masked"):
            sheet.show("labels", "none in these rows; the loss of this run has a gradient without")
    else:
        sheet.miss("one backward pass", flow.headline)
        sheet.doubt(flow.headline.rstrip("."))


def _stuck(subject: Subject, flow: GradientFlow) -> list[str]:
    """The weights whose gradient is 0 and stays 0, on the first rows and on rows of all the data.

    The first rows may be of one source, and a head may have no label there.
    """
    data = getattr(subject.trainer, "train_dataset", None)
    batch = spread_out(subject.trainer, data, NUM_ROWS) if flow.stuck else None
    if batch is None:
        return flow.stuck
    other = audit_gradients(subject.trainer, batch).stuck
    return [name for name in flow.stuck if name in other]


def _were_chosen(unused: list[str], subject: Subject) -> bool:
    """Whether somebody chose to train these weights: those of an adapter, or few of the model.

    Whoever freezes a part leaves the rest as it is, and a pooler that nothing reads with it.
    """
    if hasattr(subject.model, "peft_config"):
        return True
    is_pooler = all("pooler" in name.split(".") for name in unused)
    return subject.share_trainable < FEW and not is_pooler


def _largest(flow: GradientFlow) -> tuple[float, str]:
    """The largest magnitude of a gradient, and whose it is."""
    return max((p.largest_grad or 0.0, p.name) for p in flow.parameters)
