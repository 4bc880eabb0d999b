"""Looks at the weights: finite, trainable, held by the optimizer, wide enough for its steps."""

import math
from collections.abc import Iterable
from itertools import islice

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.looks.adapter import HEADS
from course_utils.diagnostics.diagnosis.measures.one_loss import reads_the_model
from course_utils.diagnostics.diagnosis.measures.weight_groups import GROUPS
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.gradient_flow.report import same_layers
from course_utils.diagnostics.nonfinite.values import all_finite

SAMPLE = 4096  # weights of a tensor that are looked at for rounding
BITS = 7  # of bfloat16's fraction
SWALLOWED = 0.6  # share of the weights that a step of the learning rate leaves as they are
DRAWN = "all norms are 1, as they are drawn: no checkpoint is in them"
TEACHER_MOVES = {
    "why": "the reference (or teacher) is trained with the model: it does not stand still",
    "advice": "give the model copies (copy.deepcopy) of the layers that it takes over from it",
}
FEW = 0.1  # such a share is fine: Adam's steps are shorter than the rate
KNOWN = ("torch", "transformers", "bitsandbytes", "apex")  # libraries whose steps are rounded


def look_at_weights(subject: Subject, sheet: Sheet) -> None:
    for what, look in (
        ("weights", _are_finite),
        ("what is trainable", _are_trainable),
        ("the optimizer's parameters", _are_held),
        ("the format of the weights", _are_wide_enough),
        ("the reference", _reference_is_another),
        ("the start", _are_drawn),
    ):
        with sheet.trying(what):
            look(subject, sheet)


def _are_finite(subject: Subject, sheet: Sheet) -> None:
    named = dict(subject.model.named_parameters())
    if shards := [name for name, p in named.items() if hasattr(p, "ds_shape") and not p.numel()]:
        why = f"ZeRO-3 keeps only shards, {len(shards)} of {len(named)} tensors are empty here"
        sheet.miss("weights", f"{why}; deepspeed.zero.GatheredParameters around diagnose")
        sheet.doubt(why)
        sheet.broken_forward = f"an error on empty weights: {why}"
        return
    bad = [name for name, p in named.items() if p.is_floating_point() and not all_finite(p)]
    if not bad:
        sheet.clear("weights", f"{len(named)} tensors, all finite")
        return
    first = named[bad[0]]
    count = int((~first.isfinite()).sum())
    rows = (~first.isfinite()).flatten(1).any(1).nonzero().flatten() if first.dim() > 1 else ()
    where = f", in row {', '.join(str(int(row)) for row in islice(rows, 3))}" if len(rows) else ""
    said = f"{bad[0]} holds {count} nan or inf of {first.numel()} numbers{where}"
    more = (f"{len(bad) - 1} more tensors do",) if len(bad) > 1 else ()
    sheet.find("loaded_broken_weight", COUNTED + 1, said, *more, place=bad[0])


def _are_drawn(subject: Subject, sheet: Sheet) -> None:
    """Norms that are 1 throughout: right for a run from scratch alone."""
    if subject.has_ended or subject.log:
        return
    subject.is_drawn = norms_are_drawn(subject.model)
    if subject.is_drawn:
        sheet.show("the weights", DRAWN)


def norms_are_drawn(model: nn.Module) -> bool:
    """Whether all weights of norms are 1, or 0 where the layer adds 1 itself.

    A model without two of them says nothing.
    """
    norms = [
        weight
        for name, weight in model.named_parameters()
        if GROUPS["norms"].search(name) and name.endswith("weight") and weight.dim() == 1
    ]
    return len(norms) > 1 and all(bool((one == 1).all() or (one == 0).all()) for one in norms)


def _are_trainable(subject: Subject, sheet: Sheet) -> None:
    named = dict(subject.model.named_parameters())
    trainable = subject.trainable()
    adapters = [name for name in named if ".lora_" in name]
    frozen = [name for name in adapters if name not in trainable]
    if named and not trainable:
        more = (f"{len(frozen)} of them are matrices of a LoRA adapter",) if frozen else ()
        said = f"0 of {len(named)} tensors require a gradient"
        sheet.find("nothing_trainable", COUNTED, said, *more, place=_first(frozen or named))
    elif adapters and len(frozen) == len(adapters) and not _are_of_a_head(trainable):
        said = f"all {len(frozen)} matrices of the LoRA adapter are frozen"
        sheet.find("nothing_trainable", COUNTED, said, place=frozen[0])
    else:
        count = sum(p.numel() for p in trainable.values())
        sheet.clear("trainable", f"{len(trainable)} of {len(named)} tensors, {count:,} numbers")


def _are_of_a_head(names: Iterable[str]) -> bool:
    """Whether these are weights of a task's head alone, which reads what a frozen model gives."""
    return all(set(name.split(".")) & set(HEADS) for name in names)


def _are_held(subject: Subject, sheet: Sheet) -> None:
    groups = getattr(subject.optimizer, "param_groups", None)
    trainable = subject.trainable()
    if groups is None or not trainable:
        if subject.optimizer is None:
            is_later = subject.trainer is not None  # which makes its own when it begins
            why = "there is no optimizer yet" if is_later else "no optimizer was given"
            sheet.miss("the optimizer's parameters", why)
        return
    held = {id(p) for group in groups for p in group["params"]}
    missing = [name for name, p in trainable.items() if id(p) not in held]
    if not missing:
        sheet.clear("optimizer", f"it holds all {len(trainable)} trainable tensors")
        return
    said = f"it holds {len(trainable) - len(missing)} of {len(trainable)} trainable tensors"
    weight = COUNTED if len(missing) >= len(trainable) / 2 else MEASURED
    more = f"the first that it lacks is {missing[0]}"
    why = advice = ""
    if part := _left_out(missing, [name for name in trainable if name not in missing]):
        why = f"the optimizer holds no {part}: its groups were made without them"
        advice = f"give the optimizer every trainable weight, {part} too: a filter by name or by "
        advice += "shape leaves them out"
    key, place = "optimizer_holds_others", missing[0]
    sheet.find(key, weight, said, more, place=place, why=why, advice=advice)


def _left_out(missing: list[str], held: list[str]) -> str:
    """What the names of all missing weights have, and no other's, as a filter by name leaves out.

    >>> _left_out(["h.0.lora_B.w", "h.1.lora_B.w"], ["h.0.lora_A.w", "h.1.lora_A.w"])
    'lora_B'
    """
    parts = set.intersection(*(set(name.split(".")) for name in missing))
    parts -= {part for name in held for part in name.split(".")}
    named = [part for part in parts if not part.isdigit()]  # the number of a layer is no name
    return min(named, key=len) if held and named else ""


def _are_wide_enough(subject: Subject, sheet: Sheet) -> None:
    trainable = subject.trainable()
    half = [name for name, p in trainable.items() if p.dtype == torch.float16]
    if half:
        said = f"{len(half)} of {len(trainable)} trainable tensors are float16"
        sheet.find("half_weights", COUNTED, said, f"the first is {half[0]}", place=half[0])
    rate = _rate(subject)
    narrow = {n: p for n, p in trainable.items() if p.dtype == torch.bfloat16 and p.dim() > 1}
    if not rate or not narrow or not _rounds_to_the_nearest(subject):
        return
    shares = {name: _unmoved_by(p, rate) for name, p in narrow.items()}
    share = sum(shares.values()) / len(shares)
    if share > SWALLOWED:
        worst = max(shares, key=shares.__getitem__)
        sheet.find(
            "rounding_swallows",
            MEASURED,
            f"a step of {rate:g}, the learning rate, leaves {share:.1%} of the bfloat16 weights "
            "as they are",
            place=f"{same_layers(worst)}, bfloat16",
            specimen=(_one_step(narrow[worst], rate),),
        )
    else:
        moved = f"a step of {rate:g} moves {1 - share:.0%} of the bfloat16 weights"
        write = sheet.clear if share < FEW else sheet.show
        write("rounding", moved)


def _rate(subject: Subject) -> float:
    """The length of a step: the learning rate, where the optimizer steps by it; else 0."""
    if not subject.steps_by_rate:
        return 0.0
    if subject.args is not None:
        return float(getattr(subject.args, "learning_rate", 0.0))
    groups = getattr(subject.optimizer, "param_groups", ())
    return max((float(group["lr"]) for group in groups), default=0.0)


def _rounds_to_the_nearest(subject: Subject) -> bool:
    """Whether the optimizer is known to do so; another may keep what rounding takes.

    One that is not made yet will be the Trainer's.
    """
    own = getattr(subject.optimizer, "optimizer", subject.optimizer)  # accelerate wraps it
    return own is None or type(own).__module__.partition(".")[0] in KNOWN


def _unmoved_by(weight: Tensor, rate: float) -> float:
    """The share of weights that subtracting `rate` leaves unchanged in their format."""
    flat = weight.detach().flatten()
    some = flat[:: max(1, len(flat) // SAMPLE)]
    return float((some - rate == some).double().mean())


def _one_step(weight: Tensor, rate: float) -> str:
    """What a step does to the weight of median size, and the step that would move it."""
    sizes = weight.detach().flatten().abs()
    size = float(sizes.float().median())
    spacing = 2.0 ** (math.floor(math.log2(size)) - BITS) if size else 0.0
    return (
        f"a weight of {size:.3g} has its neighbours {spacing:.2g} away, {spacing / rate:.3g} steps"
    )


def _reference_is_another(subject: Subject, sheet: Sheet) -> None:
    place, reference = "ref_model", subject.reference
    if reference is None and subject.has_own_loss and subject.second_model:
        place, reference = subject.second_model, subject.held_models[subject.second_model]
    if reference is None:
        return
    shared = _addresses(subject.trainable().values())
    own = [n for n, p in reference.named_parameters() if p.data_ptr() in shared]
    held = _addresses(
        p for g in getattr(subject.optimizer, "param_groups", ()) for p in g["params"]
    )
    stepped = [n for n, p in reference.named_parameters() if p.data_ptr() in held - shared]
    is_held = reference is not subject.reference
    if (own or stepped) and is_held and reads_the_model(reference, subject):
        sheet.show(place, "it reads what the model gives: it is a part of the loss, no reference")
    elif own:
        said = f"{len(own)} trainable tensors are its own as well, the first is {own[0]}"
        words = TEACHER_MOVES if is_held else {}
        sheet.find("reference_moves", COUNTED, f"{place}: {said}", place=place, **words)
    elif stepped:
        sheet.find(
            "reference_moves",
            COUNTED,
            f"the optimizer holds {len(stepped)} tensors of it, the first is {stepped[0]}",
            place="optimizer, reference",
            why=TEACHER_MOVES["why"],
            advice="give the optimizer the parameters of the model alone; reference.eval() and "
            "requires_grad_(False)",
        )
    else:
        sheet.clear("reference", "it shares no trainable tensor")


def _addresses(tensors) -> set[int]:
    return {p.data_ptr() for p in tensors}


def _first(names) -> str:
    return next(iter(names), "")
