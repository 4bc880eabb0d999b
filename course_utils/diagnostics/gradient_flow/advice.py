"""The cause and the fix of what an audit found, each in one sentence."""

from typing import TYPE_CHECKING

from course_utils.diagnostics.gradient_flow.crossings import Cause

if TYPE_CHECKING:
    from course_utils.diagnostics.gradient_flow.report import Cut, GradientFlow

CUTS = {
    Cause.CHECKPOINT: (
        "reentrant checkpointing runs {where} without gradients, because none of its inputs "
        "requires one: the embeddings are frozen",
        "gradient_checkpointing_kwargs={{'use_reentrant': False}}, or "
        "model.enable_input_require_grads() before training",
    ),
    Cause.INFERENCE_MODE: (
        "{where} ran under torch.inference_mode",
        "take inference_mode off the way to the loss; what is only logged may stay under it",
    ),
    Cause.NO_GRAD: (
        "{where} ran under torch.no_grad ({evidence})",
        "take no_grad off the way to the loss; a frozen model needs requires_grad_(False) only",
    ),
    Cause.DETACH: (
        "a value on the way to the loss was detached in {where} ({evidence})",
        "drop detach() or .data there, or use the detached copy for logging only",
    ),
    Cause.INTEGER: (
        "a value was turned into integers or booleans in {where} ({evidence})",
        "use an expression that has a derivative, or a straight-through estimator: "
        "x + (x.round() - x).detach()",
    ),
    Cause.ESCAPE: (
        "the loss was made from a plain number ({evidence}), which has no history",
        "return the tensor that the model gave; keep .item() and torch.tensor(...) for the log",
    ),
    Cause.OTHER: (
        "{evidence} has no derivative",
        "use an operation with one, or write a torch.autograd.Function with a backward",
    ),
    Cause.UNSEEN: (
        "the graph ends where no torch call from Python shows it",
        "look at compiled or native code on the way to the loss",
    ),
}


def advise(flow: "GradientFlow") -> tuple[str, str]:
    """The cause and the fix; two empty strings if nothing is wrong."""
    if not flow.parameters:
        return _frozen(flow)
    if flow.not_finite:
        return (
            "a nan or inf in the forward or backward pass; the graph itself may be whole",
            "trace_step(model, batch) names the operation that made it",
        )
    if flow.cuts:
        return _cut(flow.cuts[0])
    if not flow.num_reached:
        return (
            "the loss was computed without any trainable parameter",
            "check that loss_of calls the model that is trained, and that what trains is used",
        )
    if flow.stuck:
        return _stuck(flow)
    if flow.optimizer is not None and not flow.optimizer.holds_all:
        return (
            f"the optimizer was made for other tensors: {flow.optimizer.missing[0]} is not in it",
            "make the optimizer from model.parameters() after the adapter is attached and the "
            "model is moved, quantised or wrapped",
        )
    return "", ""


def _frozen(flow: "GradientFlow") -> tuple[str, str]:
    if flow.num_frozen_adapters:
        return (
            "the adapter was loaded for inference, or frozen since",
            "PeftModel.from_pretrained(model, path, is_trainable=True)",
        )
    return (
        "requires_grad is False everywhere",
        "attach an adapter with get_peft_model, or set requires_grad_(True) on what has to train",
    )


def _cut(cut: "Cut") -> tuple[str, str]:
    cause, fix = CUTS[cut.cause]
    return cause.format(where=cut.where, evidence=cut.evidence), fix.format()


def _stuck(flow: "GradientFlow") -> tuple[str, str]:
    if flow.flat is not None:
        where = f"{flow.flat.operation}() in {flow.flat.module or 'the model itself'}"
        return (
            f"the derivative of {where} is 0 everywhere ({flow.flat.place})",
            "a straight-through estimator: x + (f(x) - x).detach()",
        )
    if len(flow.stuck) == len(flow.parameters):
        return (
            "on this batch the loss does not change with any weight: every advantage is 0, every "
            "label is masked, or a clamp or saturated function ends the slope",
            "look at the batch: labels other than -100, rewards that differ, ratios within bounds",
        )
    return (
        f"{flow.stuck[0]} is used, and its gradient is 0 on this batch also after a step: a dead "
        "ReLU, a clamp, an unused expert, or an input of zeros",
        "audit another batch; if it stays 0, look at what comes after this parameter",
    )
