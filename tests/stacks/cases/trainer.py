"""transformers' Trainer, and instruments on a language model without one."""

import torch

from course_utils import diagnostics

from .answers import causes_of, findings_of, found_by, is_same
from .case import FOUND, SILENCE, Group, Seen, first
from .on_trainer import cases_with_nan, cases_without_labels, healthy_cases
from .tiny import broken_model, language_model, one_batch, plain_trainer, tokenizer

CASES = Group("Trainer")
CASES += healthy_cases("Trainer", plain_trainer)
CASES += cases_with_nan("Trainer", plain_trainer)
CASES += cases_without_labels("Trainer", plain_trainer)


@CASES.case("compare_models, the same", SILENCE)
def compare_same() -> Seen:
    return is_same(diagnostics.compare_models(language_model(), language_model(), one_batch()))


@CASES.case("compare_models, another seed", FOUND)
def compare_other() -> Seen:
    return is_same(diagnostics.compare_models(language_model(), language_model(5), one_batch()))


@CASES.case("inspect_batch of a mapping, healthy", SILENCE)
def inspect_mapping() -> Seen:
    return findings_of(diagnostics.inspect_batch(one_batch(), tokenizer()))


@CASES.case("audit_step of a model, healthy", SILENCE)
def audit_model() -> Seen:
    model = language_model()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return causes_of(diagnostics.audit_step(model, one_batch(), adam))


@CASES.case("trace_step, NaN in a weight", FOUND)
def trace_nan() -> Seen:
    return found_by(diagnostics.trace_step(broken_model(), one_batch()))


@CASES.case("audit_gradients, a layer's output is detached", first("detached"))
def audit_gradients() -> Seen:
    model = language_model()
    model.model.layers[0].register_forward_hook(lambda *call: _detached(call[-1]))
    flow = diagnostics.audit_gradients(model, one_batch())
    return Seen([cut.cause.value for cut in flow.cuts])


@CASES.case("profile_ranges, healthy", SILENCE)
def profile() -> Seen:
    found = diagnostics.profile_ranges(language_model(), one_batch())
    return Seen([] if found.survives("float32") else ["does not survive float32"])


def _detached(output):
    """Since transformers 4.54 a layer returns a tensor, before a tuple."""
    return output.detach() if torch.is_tensor(output) else (output[0].detach(), *output[1:])
