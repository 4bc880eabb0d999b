"""Looks at how far the settings can move the weights: rate times steps, decay, number of steps."""

import torch

from course_utils.diagnostics.diagnosis.looks.settings import num_steps_of
from course_utils.diagnostics.diagnosis.measures.decay import AT_ONCE, DECAYED
from course_utils.diagnostics.diagnosis.measures.losses_given import SMOOTHED
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, POLICY, Subject
from course_utils.diagnostics.libraries.pytorch import dropouts

TOO_SHORT = 3e-4  # of a weight's size: what the whole run can change
FEW, FEWEST = 3, 16  # steps: of a run that is short, and of one that is meant to train
MOST_DROPPED = 0.8
TURNED = 0.49  # of DPO's pairs: with a half of them the gradient is 0
HOLDS = 2.0  # of a policy's beta: beyond it the reference decides, whatever the reward
WEAKEST, STRONGEST = 1e-3, 10.0  # of DPO's beta


def look_at_strength(subject: Subject, sheet: Sheet) -> None:
    if subject.args is None:
        return
    for what, look in (
        ("how far the rate reaches", _reach),
        ("weight decay", _decay),
        ("the number of steps", _steps),
        ("dropout", _dropout),
        ("beta", _beta),
        ("how far labels are smoothed", _smoothing),
        ("the weights of thumbs", _thumbs),
    ):
        with sheet.trying(what):
            look(subject, sheet)


def _reach(subject: Subject, sheet: Sheet) -> None:
    """Adam and Lion move a weight by about the rate in a step, so by rate x steps in a run."""
    steps, rate = num_steps_of(subject), float(getattr(subject.args, "learning_rate", 0) or 0)
    sizes = [float(p.detach().float().square().mean().sqrt()) for p in _matrices(subject)]
    if not steps or not rate or not sizes or not subject.steps_by_rate:
        return
    size = sorted(sizes)[len(sizes) // 2]
    share = rate * steps / size if size else 1.0
    most = f"{steps} steps of {rate:g} move a weight by at most {rate * steps:.2g}"
    said = f"{most}; its size is {size:.2g}"
    if share < TOO_SHORT and steps >= FEWEST:
        sheet.find("rate_too_low", LIKELY, said, place="learning_rate")


def _matrices(subject: Subject) -> list[torch.Tensor]:
    return [p for p in subject.trainable().values() if p.dim() > 1 and bool(p.any())]


def _decay(subject: Subject, sheet: Sheet) -> None:
    decay, rate = (
        float(getattr(subject.args, n, 0) or 0) for n in ("weight_decay", "learning_rate")
    )
    steps = num_steps_of(subject)
    shrunk = rate * decay * steps
    if not decay or not steps or not subject.steps_by_rate:
        return
    said = f"weight_decay {decay:g} x learning_rate {rate:g} x {steps} steps = {shrunk:.2g}"
    if shrunk > DECAYED and rate * decay > AT_ONCE:  # over many small steps, gradients hold it up
        sheet.find("decay_too_strong", LIKELY, said, place="weight_decay")
    else:
        sheet.clear("weight decay", said)


def _steps(subject: Subject, sheet: Sheet) -> None:
    args, steps = subject.args, num_steps_of(subject)
    rows = getattr(subject.trainer, "train_dataset", None)
    if not steps or subject.kind == POLICY or not hasattr(rows, "__len__"):
        return
    parts = args.gradient_accumulation_steps
    size = args.train_batch_size * parts * args.world_size
    said = f"{steps} steps of {size} rows; the data set has {len(rows)}"
    if args.max_steps <= 0 and steps <= FEW and parts > 1:
        said = f"{said}; gradient_accumulation_steps is {parts}"
        sheet.find("few_steps", LIKELY, said, place="gradient_accumulation_steps")
    else:
        sheet.show(
            "what the run reads", f"{said}, read {steps * size / max(1, len(rows)):.2g} times"
        )


def _dropout(subject: Subject, sheet: Sheet) -> None:
    layers = [m for m in subject.model.modules() if isinstance(m, dropouts())]
    most = max((float(m.p) for m in layers), default=0.0)
    if most >= MOST_DROPPED:
        count = sum(m.p >= MOST_DROPPED for m in layers)
        said = f"{count} of {len(layers)} dropout layers drop {most:.0%} of their input"
        sheet.find("dropout_too_strong", LIKELY, said, place="dropout")


def _beta(subject: Subject, sheet: Sheet) -> None:
    beta = getattr(subject.args, "beta", None)
    if subject.kind == POLICY and isinstance(beta, float | int) and beta > HOLDS:
        sheet.find("beta_unusual", LIKELY, f"beta is {beta:g}", place="beta")
    kinds = getattr(subject.args, "loss_type", None)
    is_plain = kinds in ("sigmoid", ["sigmoid"], None)
    if subject.kind != PAIRS or not is_plain or not isinstance(beta, float | int) or not beta:
        return
    if not WEAKEST <= beta <= STRONGEST:
        sheet.find("beta_unusual", LIKELY, f"beta is {beta:g}", place="beta")


def _smoothing(subject: Subject, sheet: Sheet) -> None:
    for name, most in (("label_smoothing_factor", SMOOTHED), ("label_smoothing", TURNED)):
        smooth = float(getattr(subject.args, name, 0) or 0)
        if smooth > most:
            sheet.find("smoothing_too_strong", LIKELY, f"{name} is {smooth:g}", place=name)


def _thumbs(subject: Subject, sheet: Sheet) -> None:
    """KTO's weights of desirable and undesirable replies."""
    for name in ("desirable_weight", "undesirable_weight"):
        if getattr(subject.args, name, None) == 0:
            why = "replies of one kind have the weight 0, so that nothing is learnt of them"
            sheet.find("class_without_weight", COUNTED, f"{name} is 0", place=name, why=why)
