"""Exercise 01.8: three runs that nobody has explained, one of them drawn by the seed."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import index

import torch
import torch.nn.functional as F

from course_utils.checking import watched
from course_utils.exercises.compare import told_apart
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.reproductions.unseen_01 import (
    CAUSES,
    Batch,
    Patient,
    attention_loss,
    compass,
    cosine_loss,
    direction_loss,
    reader,
    search,
)

KEYS = ("row", "line", "cause", "mend")
SEEDS = (1, 2, 3)
MAX_RATIO = 20  # how often the largest gradient of the other rows an empty row's may be
LEARNED = 0.3  # the share of the first loss that is left after training


@dataclass(frozen=True)
class Diagnosis:
    """What the reader says of a patient, with her loss watched for what it does."""

    patient: Patient
    row: int
    line: int
    cause: str
    mend: Callable


def has_the_four_parts(answer: dict) -> str | None:
    if set(answer) != set(KEYS):
        return f"the keys are {list(answer)}, and {', '.join(KEYS)} are asked"
    for key in ("row", "line"):
        if isinstance(answer[key], bool) or not hasattr(answer[key], "__index__"):
            return f"{key} is {answer[key]!r}, where a whole number is asked"
    if str(answer["cause"]).strip().lower() not in CAUSES:
        return f"cause is {answer['cause']!r}, where a letter from a to {max(CAUSES)} is asked"
    if not callable(answer["mend"]):
        return f"mend is a {type(answer['mend']).__name__}, where a loss function is asked"
    return None


def _gradient(loss: Callable, outputs: torch.Tensor, rest: tuple):
    """The loss and the gradient of the model's outputs, or a sentence on what is missing."""
    leaf = outputs.clone().requires_grad_()
    value = loss(leaf, *rest)
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        return None, None, "the mended loss is not a tensor of one number"
    if not value.requires_grad:
        return None, None, "the mended loss has no graph, so nothing can learn from it"
    (gradient,) = torch.autograd.grad(value.sum(), leaf, allow_unused=True, materialize_grads=True)
    return value.detach(), gradient, None


def _outputs(patient: Patient, batch: Batch, seed: int) -> torch.Tensor:
    with torch.no_grad():
        return patient.model(seed)(batch.inputs)


def place_is_right(found: Diagnosis) -> str | None:
    patient, right_line = found.patient, PLACES[found.patient.loss][0]
    if found.row != patient.empty:
        outputs = patient.outputs()
        _, gradient, _ = _gradient(patient.loss, outputs.detach(), patient.batch)
        if not 0 <= found.row < len(gradient):
            return f"there is no row {found.row}; they are counted from 0 to {len(gradient) - 1}"
        size = gradient[found.row].norm().item()
        return f"the gradient of row {found.row} is finite and of size {size:.2g}, as it should be"
    if found.line != right_line:
        return f"row {found.row} is right; its trouble is not made in line {found.line}"
    return None


def cause_is_right(found: Diagnosis) -> str | None:
    if found.cause == PLACES[found.patient.loss][1]:
        return None
    return f"you say {found.cause}), {CAUSES[found.cause]}; that does not happen in this run"


def healthy_batches_stay(found: Diagnosis) -> str | None:
    patient = found.patient
    for seed, rows in ((21, 8), (22, 1), (23, 3), (24, 13)):
        batch = patient.make_batch(seed, rows=rows)
        outputs = _outputs(patient, batch, seed)
        value, gradient, problem = _gradient(found.mend, outputs, batch.rest)
        if problem:
            return problem
        want, want_gradient, _ = _gradient(patient.loss, outputs, batch.rest)
        given = f"for {rows} documents, none of them empty,"
        if not torch.isclose(value, want, rtol=1e-3, atol=1e-5):
            mine, right = told_apart(value.item(), want.item())
            return f"{given} the loss is {mine}, it should stay {right}"
        if not torch.allclose(gradient, want_gradient, rtol=1e-2, atol=1e-4):
            off = (gradient - want_gradient).abs().max().item()
            return f"{given} the loss is right and its gradient is off by {off:.2g}"
    return None


def gradient_is_bounded(found: Diagnosis) -> str | None:
    patient = found.patient
    for seed, empty in ((31, (patient.empty,)), (32, (0,)), (33, (1, 7))):
        batch = patient.make_batch(seed, empty=empty)
        outputs = _outputs(patient, batch, seed)
        value, gradient, problem = _gradient(found.mend, outputs, batch.rest)
        if problem:
            return problem
        given = f"with documents {list(empty)} empty"
        if not value.isfinite():
            return f"{given} the loss is {value.item()}"
        sizes = gradient.norm(dim=-1)
        if not sizes.isfinite().all():
            at = int((~sizes.isfinite()).nonzero()[0])
            return f"{given} the gradient of row {at} is {gradient[at].tolist()}"
        others = [size for row, size in enumerate(sizes.tolist()) if row not in empty]
        largest = sizes[list(empty)].max().item()
        if largest > MAX_RATIO * max(others):
            told = f"an empty row's gradient has size {largest:.2g}, the largest other"
            return f"{given} {told} {max(others):.2g}"
    return None


def it_learns(found: Diagnosis) -> str | None:
    patient = found.patient
    _, _, problem = _gradient(found.mend, patient.outputs().detach(), patient.batch)
    if problem:
        return problem
    for seed in SEEDS:
        before = patient.true_loss(patient.model(seed), seed)
        after = patient.true_loss(patient.fit(found.mend, seed)[0], seed)
        if not after <= LEARNED * before:
            told = f"the loss of full documents goes from {before:.3g} to {after:.3g}"
            return f"trained from seed {seed}, {told}"
    return None


PLACES = {cosine_loss: (3, "c"), attention_loss: (4, "d"), direction_loss: (5, "e")}


# Losses that mend, or seem to. Each is a Search, Reader or Compass loss, as its name says.


def search_with_a_harmless_row(x, y):
    is_empty = x.eq(0).all(-1)
    safe = torch.where(is_empty[:, None], 1.0, x)
    cosine = (x * y).sum(-1) / (safe.square().sum(-1).sqrt() * y.norm(dim=-1))
    return (1 - cosine).mean()


def search_without_empty_rows(x, y):
    has_words = x.ne(0).any(-1)
    cosine = F.cosine_similarity(x[has_words], y[has_words])
    return (1 - cosine).sum() / has_words.sum()


def search_with_a_bounded_norm(x, y):
    size = x.norm(dim=-1).clamp(min=0.05)
    return (1 - (x * y).sum(-1) / (size * y.norm(dim=-1))).mean()


def search_with_eps_outside(x, y):
    size = (x.square().sum(-1).sqrt() + 1e-6) * y.norm(dim=-1)
    return (1 - (x * y).sum(-1) / size).mean()


def search_with_torchs_cosine(x, y):
    return (1 - F.cosine_similarity(x, y)).mean()


def search_with_nan_to_num(x, y):
    return cosine_loss(x, y).nan_to_num()


def search_over_half_the_mean(x, y):
    return search_with_a_harmless_row(x, y) / 2


def search_detached(x, y):
    return search_with_a_harmless_row(x.detach(), y)


def search_that_gives_up(x, y):
    loss = search_with_a_harmless_row(x, y)
    return loss * 0 if x.eq(0).all(-1).any() else loss


def search_with_a_fixed_row(x, y):
    keep = torch.arange(len(x)) != 5
    return cosine_loss(x[keep], y[keep]) if len(x) == 8 else cosine_loss(x, y)


def reader_with_a_finite_mask(scores, allowed, values, target):
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~allowed, lowest).softmax(-1)
    error = (weights @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_without_empty_rows(scores, allowed, values, target):
    can = allowed.any(-1)
    weights = scores[can].masked_fill(~allowed[can], -math.inf).softmax(-1)
    return (weights @ values - target[can]).square().sum() / len(scores)


def reader_with_an_open_row(scores, allowed, values, target):
    can_read = allowed.any(-1)
    return (
        attention_loss(
            torch.where(can_read[:, None], scores, 0.0),
            allowed | ~can_read[:, None],
            values,
            target,
        )
        - (torch.where(can_read, 0.0, (values.mean(0) - target).square().sum(-1))).mean()
    )


def reader_with_nan_to_num(scores, allowed, values, target):
    mask = torch.zeros_like(scores).masked_fill(~allowed, -math.inf)
    weights = (scores + mask).softmax(-1).nan_to_num()
    error = (weights @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_that_forgets_the_mask(scores, allowed, values, target):
    error = (scores.softmax(-1) @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_with_a_weak_mask(scores, allowed, values, target):
    error = ((scores - 3.0 * ~allowed).softmax(-1) @ values - target).square().sum(-1)
    return torch.where(allowed.any(-1), error, 0.0).mean()


def reader_by_the_count_of_readers(scores, allowed, values, target):
    weights = scores.masked_fill(~allowed, -1e9).softmax(-1)
    error = (weights @ values - target).square().mean(-1)
    return torch.where(allowed.any(-1), error, 0.0).sum() / allowed.any(-1).sum()


def reader_that_gives_up(scores, allowed, values, target):
    loss = reader_with_a_finite_mask(scores, allowed, values, target)
    return loss if allowed.any(-1).all() else loss * 0


def reader_detached(scores, allowed, values, target):
    return reader_with_a_finite_mask(scores.detach(), allowed, values, target)


def compass_with_a_harmless_row(x, y):
    is_empty = x.eq(0).all(-1, keepdim=True)
    size = torch.where(is_empty, 1.0, x).norm(dim=-1, keepdim=True)
    unit = torch.where(is_empty, 0.0, x / size)
    return (unit - y / y.norm(dim=-1, keepdim=True)).square().sum(-1).mean()


def compass_without_empty_rows(x, y):
    has_words = x.ne(0).any(-1)
    return (F.normalize(x[has_words]) - F.normalize(y[has_words])).square().sum() / has_words.sum()


def compass_with_a_bounded_norm(x, y):
    unit = x / x.norm(dim=-1, keepdim=True).clamp(min=0.05)
    return (unit - F.normalize(y)).square().sum(-1).mean()


def compass_with_torchs_normalize(x, y):
    return (F.normalize(x) - F.normalize(y)).square().sum(-1).mean()


def compass_with_a_larger_eps(x, y):
    unit = x / (x.norm(dim=-1, keepdim=True) + 1e-5)
    return (unit - F.normalize(y)).square().sum(-1).mean()


def compass_with_a_clipped_loss(x, y):
    return direction_loss(x, y).clamp(max=1.5)


def compass_without_directions(x, y):
    return (x - F.normalize(y)).square().sum(-1).mean()


def compass_by_rows_alone(x, y):
    return (F.normalize(x) - F.normalize(y)).square().mean()


def compass_detached(x, y):
    return compass_with_a_harmless_row(x.detach(), y)


def compass_that_gives_up(x, y):
    loss = compass_with_a_harmless_row(x, y)
    return loss * 0 if x.eq(0).all(-1).any() else loss


def _answers(patient: Patient, *mends: Callable) -> tuple[dict, ...]:
    line, cause = PLACES[patient.loss]
    return tuple({"row": patient.empty, "line": line, "cause": cause, "mend": m} for m in mends)


def _wrong(patient: Patient, right: Callable, caught: dict[Callable, Callable]) -> tuple:
    """Wrong places, causes and forms around a right mend, and the mends in `caught`."""
    answer = _answers(patient, right)[0]
    lacks = {key: value for key, value in answer.items() if key != "mend"}
    other_causes = [letter for letter in CAUSES if letter != answer["cause"]]
    return (
        Wrong(lacks, caught_by=has_the_four_parts),
        Wrong(answer | {"mend": 1.0}, caught_by=has_the_four_parts),
        Wrong(answer | {"cause": "softmax"}, caught_by=has_the_four_parts),
        Wrong(answer | {"row": "all"}, caught_by=has_the_four_parts),
        Wrong(answer | {"row": 0}, caught_by=place_is_right),
        Wrong(answer | {"row": 8}, caught_by=place_is_right),
        Wrong(answer | {"line": answer["line"] + 1}, caught_by=place_is_right),
        *(Wrong(answer | {"cause": letter}, caught_by=cause_is_right) for letter in other_causes),
        *(Wrong(answer | {"mend": mend}, caught_by=look) for mend, look in caught.items()),
    )


def _variant(make: Callable[[], Patient], title: str, mends: tuple, caught: dict, hints: tuple):
    def diagnosed(answer: dict) -> Diagnosis:
        cause = str(answer["cause"]).strip().lower()
        mend = watched(answer["mend"])
        return Diagnosis(make(), index(answer["row"]), index(answer["line"]), cause, mend)

    patient = make()
    return Exercise(
        id="01.8",
        name="UNSEEN",
        title=title,
        minutes=9,
        difficulty="a diagnosis and a mended loss",
        points=6,
        reads="unseen",
        expects=(dict,),
        form=has_the_four_parts,
        run=diagnosed,
        case=make,
        hints=(
            "Take the gradient of the outputs, patient.outputs(), and print its size row by row. "
            "Which row is not like the others, and what is its document like?",
            *hints,
        ),
        criteria=CRITERIA,
        right=_answers(patient, *mends),
        wrong=_wrong(patient, mends[0], caught),
        time_limit_s=30.0,
    )


CRITERIA = (
    Criterion(
        "Row and line are those in which the trouble is made.",
        place_is_right,
        why="one row of a batch is enough to spoil every weight",
        next="print value and gradient of that row after each line of the loss",
    ),
    Criterion(
        "The cause is the one that happens there.",
        cause_is_right,
        why="each cause has another remedy",
        next="put the number 0, or the empty row, into that line by hand",
    ),
    Criterion(
        "Without an empty document the mended loss is the old one, in value and gradient.",
        healthy_batches_stay,
        why="a mend must not change what was right",
        next="compare with patient.loss on rows that are not empty",
    ),
    Criterion(
        f"With empty documents every gradient is finite, and none of theirs is more than "
        f"{MAX_RATIO} times the largest other.",
        gradient_is_bounded,
        why="a finite gradient of 1e7 is one step into nowhere",
        next="make the empty row harmless before the operation, or leave it out",
    ),
    Criterion(
        f"Trained with it, the old loss of full documents falls to {LEARNED:.0%} or less, "
        "from three seeds.",
        it_learns,
        why="a loss that cannot break and cannot teach mends nothing",
        next="print patient.train(your_loss)",
    ),
)

UNSEEN = _variant(
    search,
    "An unseen run: Search",
    (search_with_a_harmless_row, search_without_empty_rows, search_with_a_bounded_norm),
    {
        search_with_nan_to_num: gradient_is_bounded,
        search_with_eps_outside: gradient_is_bounded,
        search_with_torchs_cosine: gradient_is_bounded,
        search_with_a_fixed_row: healthy_batches_stay,
        search_over_half_the_mean: healthy_batches_stay,
        search_detached: healthy_batches_stay,
        search_that_gives_up: it_learns,
    },
    (
        "In line 3 of the loss, what is the derivative of the last operation for a row of zeros, "
        "and what does the way back multiply it by?",
        "As in exercise 01.2: put harmless numbers into that row before the operation, and use the "
        "true row where it cannot hurt; or average over the other rows.",
    ),
)

READER = _variant(
    reader,
    "An unseen run: Reader",
    (reader_with_a_finite_mask, reader_without_empty_rows, reader_with_an_open_row),
    {
        reader_with_nan_to_num: gradient_is_bounded,
        attention_loss: gradient_is_bounded,
        reader_that_forgets_the_mask: healthy_batches_stay,
        reader_with_a_weak_mask: healthy_batches_stay,
        reader_by_the_count_of_readers: healthy_batches_stay,
        reader_detached: healthy_batches_stay,
        reader_that_gives_up: it_learns,
    },
    (
        "The loss is finite because line 8 chooses. What are the weights of that row, and in "
        "which line do they stop being numbers?",
        "Forbid with a large finite number in place of -inf, or allow that row everything and "
        "leave its error out, as before.",
    ),
)

COMPASS = _variant(
    compass,
    "An unseen run: Compass",
    (compass_with_a_harmless_row, compass_without_empty_rows, compass_with_a_bounded_norm),
    {
        compass_with_torchs_normalize: gradient_is_bounded,
        compass_with_a_larger_eps: gradient_is_bounded,
        compass_with_a_clipped_loss: healthy_batches_stay,
        compass_without_directions: healthy_batches_stay,
        compass_by_rows_alone: healthy_batches_stay,
        compass_detached: healthy_batches_stay,
        compass_that_gives_up: it_learns,
    },
    (
        "Nothing is nan, and one gradient is 1e7. What is the derivative of x / (size + eps) where "
        "x and size are 0?",
        "Give the empty row a size that is not near 0, in a torch.where before the division, or "
        "bound the size from below.",
    ),
)

UNSEEN = replace(UNSEEN, also=(READER, COMPASS))
