"""Exercise 08.5: a Trainer with a loss of its own, whose gradient is the same for every split."""

from collections.abc import Callable
from functools import cached_property
from inspect import isfunction

import torch
from torch import Tensor

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.input_fingerprint import changed, fingerprint
from course_utils.diagnostics.splits.judging import cosine, distance
from course_utils.diagnostics.splits.ranks import believing_in
from course_utils.diagnostics.splits.stepping import Split, TrainerStep, cut, left_as_it_was
from course_utils.reproductions.lesson_08 import batch_loss, batch_trainers
from course_utils.reproductions.lesson_08.batch_loss import token_losses

TRAINS_AND_EVALUATES = {
    "training": {"num_items_in_batch": 9},
    "evaluation": {"num_items_in_batch": None, "return_outputs": True},
}
CLOSE = 5e-6  # float32 leaves 1e-6 between two orders of summation


class _Tried:
    """The reader's Trainer on six rows, with its gradient for any split."""

    def __init__(self, compute_loss: Callable) -> None:
        self.rows = batch_loss.mixed_rows(3, long=2, short=4)
        self.trainer = batch_loss.trainer(batch_trainers.with_loss(compute_loss), self.rows)
        self.trainer.current_gradient_accumulation_steps = 1
        self._step = TrainerStep(self.trainer)

    @cached_property
    def due(self) -> Tensor:
        """The gradient of the mean over all targets."""
        with left_as_it_was(self._step):
            self._token_mean(self.rows).backward()
            grads = [w.grad for w in self.trainer.model.parameters()]
        return torch.cat([grad.double().flatten() for grad in grads])

    @cached_property
    def whole(self) -> Tensor:
        """The reader's gradient of all rows in one micro-batch."""
        return self.gradient(cut(self.rows, len(self.rows)))

    def _token_mean(self, rows: list) -> Tensor:
        batch = batch_loss.collate(rows)
        labels = batch.pop("labels")
        return batch_loss.token_losses(self.trainer.model(**batch).logits, labels).mean()

    def gradient(self, split: Split) -> Tensor:
        with left_as_it_was(self._step):
            return self._step(split).gradient_N

    def differs(self, split: Split, given: str) -> str | None:
        """From the reader's own gradient of all rows at once, be that right or wrong."""
        return _differs(self.gradient(split), self.whole, given, "all rows at once")

    def evaluated(self, num_ranks: int, *, counted: bool) -> tuple[float, float]:
        """The mean over the ranks of an evaluation's losses, and what it should be."""
        share = len(self.rows) // num_ranks
        rows = [self.rows[at * share : (at + 1) * share] for at in range(num_ranks)]
        count = sum(map(batch_loss.num_targets, self.rows)) if counted else None
        with believing_in(num_ranks), left_as_it_was(self._step), torch.no_grad():
            self.trainer.model.eval()
            said = [self._evaluated(own, count) for own in rows]
            own = [float(self._token_mean(one)) for one in ([self.rows] if counted else rows)]
        losses = [one[0] if isinstance(one, (tuple, list)) else one for one in said]
        return sum(loss.item() for loss in losses) / num_ranks, sum(own) / len(own)

    def _evaluated(self, rows: list, count: int | None) -> object:
        batch, model = batch_loss.collate(rows), self.trainer.model
        given = {"return_outputs": True, "num_items_in_batch": count}
        return self.trainer.compute_loss(model, batch, **given)

    def written_into(self) -> str | None:
        """What a call has changed in `inputs` or in the model, and when."""
        model = self.trainer.model
        for when, given in TRAINS_AND_EVALUATES.items():
            batch = batch_loss.collate(self.rows[:3])
            before = {name: (value, value.clone()) for name, value in batch.items()}
            with left_as_it_was(self._step), torch.no_grad():
                came = fingerprint(model.train("train" in when), "the model")
                self.trainer.compute_loss(model, batch, **given)
                place = changed(came, fingerprint(model, "the model"))
            if place and place.startswith("the mode of"):
                came = ("eval", "train")["train" in when]
                return f"in {when} the model came in {came} mode, and it leaves in another"
            if place:
                return f"in {when} it changes {place}"
            for name, (value, was) in before.items():
                if not value.equal(was):
                    num = int((value != was).sum())
                    return f"in {when} it writes into inputs['{name}']: {num} numbers changed"
        return None

    def hands_on(self) -> str | None:
        """What prevents Trainer.prediction_step from reading the logits."""
        model, batch = self.trainer.model.eval(), batch_loss.collate(self.rows[:3])
        with torch.no_grad():
            logits = model(**{k: v for k, v in batch.items() if k != "labels"}).logits
            pair = self._evaluated(self.rows[:3], None)
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                return f"it returns a {type(pair).__name__}; a pair (loss, outputs) is needed"
            outputs = f"outputs is a {type(pair[1]).__name__}"
            try:
                _, got, _ = self.trainer.prediction_step(model, batch, False)
            except (TypeError, AttributeError, LookupError) as error:
                return f"{outputs}, from which an evaluation cannot read the logits: {error}"
        if not isinstance(got, Tensor) or got.shape != logits.shape or not got.allclose(logits):
            return f"{outputs}, from which an evaluation reads something other than the logits"
        return None


def gives_a_loss(compute_loss) -> str | None:
    own = getattr(compute_loss, "__wrapped__", compute_loss)  # what the check watches
    if not isfunction(own):
        return f"it is a {type(own).__name__}, which a class does not bind to its object; use def"
    tried = _Tried(compute_loss)
    batch = batch_loss.collate(tried.rows[:2])
    got = tried.trainer.compute_loss(tried.trainer.model.train(), batch, num_items_in_batch=9)
    if isinstance(got, Tensor) and got.numel() == 1:
        return None
    said = f"a tensor of shape {tuple(got.shape)}" if isinstance(got, Tensor) else repr(got)[:60]
    return f"it returns {said}; a tensor of one number is needed"


def _differs(got: Tensor, want: Tensor, given: str, of: str) -> str | None:
    if not got.any():
        return f"with {given} the gradient is zero everywhere"
    if distance(got, want) <= CLOSE:
        return None
    close, times = f"cosine {cosine(got, want):.3f}", f"{got.norm() / want.norm():.3g} times"
    return f"with {given} the gradient has {close} with that of {of}, and {times} its norm"


def is_the_token_mean(tried: _Tried) -> str | None:
    return _differs(tried.whole, tried.due, "all rows in one micro-batch", "the token mean")


def same_for_every_split(tried: _Tried) -> str | None:
    for size in (3, 1):
        given = f"{6 // size} micro-batches of {size}"
        if seen := tried.differs(cut(tried.rows, size), given):
            return seen
    uneven = [[tried.rows[:5], tried.rows[5:]]]
    return tried.differs(uneven, "micro-batches of 5 and 1 rows")


def same_for_every_number_of_ranks(tried: _Tried) -> str | None:
    for ranks, size in ((2, 1), (2, 3), (3, 1)):
        given = f"{ranks} ranks and micro-batches of {size}"
        if seen := tried.differs(cut(tried.rows, size, ranks), given):
            return seen
    return None


def leaves_the_tensors(tried: _Tried) -> str | None:
    return tried.written_into()


def hands_on_the_outputs(tried: _Tried) -> str | None:
    seen = tried.hands_on()
    return seen and f"with return_outputs=True {seen}"


def evaluates(tried: _Tried) -> str | None:
    for ranks, counted in ((1, True), (2, True), (1, False), (2, False)):
        got, want = tried.evaluated(ranks, counted=counted)
        given = f"evaluation on {ranks} rank{'s' if ranks > 1 else ''}"
        given += "" if counted else " without a count"
        if seen := number_differs(got, want, rtol=1e-4, given=given):
            return seen
    return None


def mended(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    labels = inputs.pop("labels")
    out = model(**inputs)
    losses = token_losses(out.logits, labels)
    if num_items_in_batch is None:
        loss = losses.mean()
    else:
        loss = losses.sum() / num_items_in_batch * self.accelerator.num_processes
    return (loss, out) if return_outputs else loss


MEND = Exercise(
    id="08.5",
    name="MEND",
    title="A Trainer whose gradient does not depend on the split",
    minutes=12,
    difficulty="a few lines",
    points=5,
    reads="compute_loss",
    expects=(Callable,),
    hints=(
        "What does the Trainer pass besides model and inputs, and what does it count?",
        "Divide the sum of the token losses by num_items_in_batch. On several ranks that is the "
        "count of all ranks, and the gradients are averaged afterwards: what cancels that mean?",
        "With a count, an evaluation needs the same two factors as training. Without a count, "
        "nobody has counted the other batches: over what can you still take a mean?",
    ),
    form=gives_a_loss,
    criteria=(
        Criterion(
            "All rows at once give the mean of token_losses over all targets.",
            is_the_token_mean,
            why="a fix must not change which loss is trained",
            next="compare sum, count and shift with batch_loss.token_losses",
        ),
        Criterion(
            "Every split into micro-batches gives the same gradient.",
            same_for_every_split,
            why="the micro-batch size is chosen for memory, and must not change what is learnt",
            next="put it into a Trainer; compare_splits(trainer) names what still differs",
        ),
        Criterion(
            "So does every number of ranks.",
            same_for_every_number_of_ranks,
            why="gradients are averaged over the ranks, and the count covers all ranks",
            next="read the number of processes from self.accelerator inside the call",
        ),
        Criterion(
            "The tensors in inputs keep their numbers, and the model keeps its mode.",
            leaves_the_tensors,
            why="the Trainer goes on with this same model, and an evaluation with these labels",
            next="change a clone of a tensor, and call neither model.train() nor model.eval()",
        ),
        Criterion(
            "With return_outputs=True it also returns the model's outputs.",
            hands_on_the_outputs,
            why="Trainer.evaluate reads the logits from there, for its metrics",
            next="return (loss, out), where out is what the model returned for inputs",
        ),
        Criterion(
            "Evaluation gives the token mean, and without a count the batch's own.",
            evaluates,
            why="evaluation calls the same function and also averages its losses over the ranks",
            next="with a count it needs the same factors as training, and without one none of them",
        ),
    ),
    answer=mended,
    may_change=(0, 1, 2),  # the model is looked at here, beside the tensors
    run=_Tried,
    time_limit_s=120.0,
)
