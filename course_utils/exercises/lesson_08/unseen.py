"""Exercise 08.8: a loop the lesson has not shown; three variants, one fault each."""

from dataclasses import dataclass, replace

from torch import Tensor

from course_utils.diagnostics.splits.judging import distance
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_08 import unseen_answers as answers
from course_utils.exercises.settings import OverSeeds, over_seeds
from course_utils.reproductions import unseen_08
from course_utils.reproductions.unseen_08 import BATCH_SIZE, CAUSES, HEALTHY, Run, Ticket

SEEDS = (3, 4, 5)
KEYS = ("place", "cause", "fix")
SAME, SAME_MODEL = 1e-5, 1e-3
ANOTHER_PART = "your function takes the place of another part, so no run was trained with it"


@dataclass(frozen=True)
class _Variant:
    """One broken loop with its diagnosis."""

    ticket: Ticket
    place: str
    cause: str


class _Tried:
    """A diagnosis with its mend, and the runs made with it."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        self.answer, self.variant = unseen, variant
        self.letter = str(unseen["cause"]).strip().lower()
        self.is_there = unseen["place"] == variant.place
        self.runs = OverSeeds(self.fresh, SEEDS)

    def fresh(self, seed: int) -> Run:
        return self.variant.ticket.fresh(seed, **{self.variant.place: self.answer["fix"]})


def _form(variant: _Variant, unseen: dict) -> str | None:
    places = tuple(variant.ticket.parts)
    if set(unseen) != set(KEYS):
        return f"the keys are {sorted(map(str, unseen))}, and {', '.join(KEYS)} are asked"
    if unseen["place"] not in places:
        return f"place is one of {', '.join(places)}; given is {unseen['place']!r}"
    if str(unseen["cause"]).strip().lower() not in CAUSES:
        return f"cause is a letter from a to {max(CAUSES)}; given is {unseen['cause']!r}"
    if not callable(unseen["fix"]):
        return f"fix is a function that takes the part's place; given is {unseen['fix']!r}"
    return None


def names_the_place(tried: _Tried) -> str | None:
    if tried.is_there:
        return None
    return f"your place is {tried.answer['place']}, and that part does what it should"


def names_the_cause(tried: _Tried) -> str | None:
    if tried.letter == tried.variant.cause:
        return None
    return f"your cause is {tried.letter}) {CAUSES[tried.letter]}; this run does not show it"


def _due(run: Run) -> Tensor:
    """The gradient of the first eight rows at once, by the healthy parts."""
    healthy = Run(HEALTHY, 0)
    healthy.model.load_state_dict(run.model.state_dict())
    return healthy.gradient([run.rows[:BATCH_SIZE]])


@over_seeds
def same_gradient(run: Run) -> str | None:
    want, rows = _due(run), run.rows[:BATCH_SIZE]
    for size in (8, 4, 3, 1):
        micro = [rows[at : at + size] for at in range(0, len(rows), size)]
        got = run.gradient(micro)
        off = distance(got, want)
        if not off <= SAME:
            ratio = float(got.norm() / want.norm())
            return (
                f"with {size} rows in a micro-batch the gradient is off by {off:.2g} of its "
                f"length, its norm {ratio:.3g} times the right one"
            )
    return None


def cut_changes_nothing(tried: _Tried) -> str | None:
    return same_gradient(tried.runs) if tried.is_there else ANOTHER_PART


def trains_one_model(tried: _Tried) -> str | None:
    """What a long run sees and eight rows do not: micro-batches without a label, any count."""
    if not tried.is_there:
        return ANOTHER_PART
    for seed in SEEDS[:2]:
        healthy = Run(HEALTHY, seed)
        want, done = healthy.train(), healthy.weights()
        for size in (1, 8):
            run = tried.fresh(seed)
            got = run.train(size)
            off = distance(run.weights(), done)
            if not off <= SAME_MODEL:
                return f"trained with {size} rows at a time its weights are off by {off:.2g}"
            for step, (mine, right) in enumerate(zip(got, want, strict=True), start=1):
                if not abs(mine - right) <= SAME_MODEL:
                    said = f"logs {mine:.4g} for {right:.4g} in step {step}"
                    return f"trained with {size} rows at a time it {said}"
    return None


def _exercise(variant: _Variant, title: str, *, right, wrong_fixes, other_part) -> Exercise:
    """The exercise on one variant; what it lists are mends, put into whole answers here."""
    diagnosis = {"place": variant.place, "cause": variant.cause}
    tempting = [letter for letter in CAUSES if letter != variant.cause][:3]

    def fits_the_ticket(unseen: dict) -> str | None:
        return _form(variant, unseen)

    good = diagnosis | {"fix": right[0]}
    broken = diagnosis | {"fix": variant.ticket.parts[variant.place]}
    wrong = [
        Wrong({}, caught_by=fits_the_ticket),
        Wrong(good | {"place": "the optimizer"}, caught_by=fits_the_ticket),
        Wrong(good | {"cause": "z"}, caught_by=fits_the_ticket),
        Wrong(good | {"fix": "divide by the whole count"}, caught_by=fits_the_ticket),
        Wrong(good | other_part, caught_by=names_the_place),
        *(Wrong(broken | {"cause": letter}, caught_by=names_the_cause) for letter in tempting),
        Wrong(broken, caught_by=cut_changes_nothing),
        *(Wrong(diagnosis | {"fix": fix}, caught_by=look) for fix, look in wrong_fixes),
    ]
    return Exercise(
        id="08.8",
        name="UNSEEN",
        title=title,
        minutes=10,
        difficulty="a place, a letter, a few lines",
        points=5,
        reads="unseen",
        expects=(dict,),
        hints=(
            "Does the gradient depend on the cut by a factor, by the weights, or by more?",
            "compare_splits(run.step, run.rows[:8], model=run.model) shows both terms together. "
            "Put a part in that drops one of them, and look again.",
            "Take the part that makes what you found. What does each term divide by, and is that "
            "number the same for every micro-batch of the step?",
        ),
        form=fits_the_ticket,
        criteria=(
            Criterion(
                "The place is the part that is at fault.",
                names_the_place,
                why="a mend elsewhere hides the fault, or does nothing",
                next="read the three parts with one question: is this number the whole step's?",
            ),
            Criterion(
                "The cause is named.",
                names_the_cause,
                why="each cause has a mend of its own",
                next="call compare_splits on the run, and on one that has a single term",
            ),
            Criterion(
                "With your part, every cut gives the gradient of all rows at once.",
                cut_changes_nothing,
                why="the gradient of the step is what is learnt",
                next="compare run.gradient of one micro-batch and of eight",
            ),
            Criterion(
                "Trained on other seeds, every cut gives the same model and the same log.",
                trains_one_model,
                why="a long run meets micro-batches without a single label",
                next="train a fresh run with your part, with 1 and with 8 rows at a time",
            ),
        ),
        right=tuple(diagnosis | {"fix": fix} for fix in right),
        wrong=tuple(wrong),
        run=lambda unseen: _Tried(unseen, variant),
        case=lambda: variant.ticket,
        time_limit_s=60.0,
    )


DIVIDES = (answers.divides, answers.divides_after_adding, answers.divides_with_a_weight)
WRONG_DIVIDES = (
    (answers.divides_by_its_own, cut_changes_nothing),
    (answers.divides_the_labels_only, cut_changes_nothing),
    (answers.divides_by_g_as_well, cut_changes_nothing),
    (answers.divides_by_both_counts, cut_changes_nothing),
    (answers.divides_without_alpha, cut_changes_nothing),
    (answers.divides_and_undoes_the_teacher, cut_changes_nothing),
    (answers.divides_by_nothing, trains_one_model),
)
BOXES = _exercise(
    _Variant(unseen_08.boxes_by_the_image(), "divide", "a"),
    "An unseen run: a detector of two minds",
    right=DIVIDES,
    wrong_fixes=WRONG_DIVIDES,
    other_part={"place": "count", "fix": unseen_08.count},
)
TERMS = _exercise(
    _Variant(unseen_08.two_denominators(), "divide", "d"),
    "An unseen run: the mixing weight that moves",
    right=DIVIDES,
    wrong_fixes=WRONG_DIVIDES,
    other_part={"place": "log", "fix": unseen_08.log},
)
WIDTH = _exercise(
    _Variant(unseen_08.the_width_counted(), "count", "e"),
    "An unseen run: the teacher that fades",
    right=(answers.counts, answers.counts_by_tensors, answers.counts_in_a_loop),
    wrong_fixes=(
        (answers.counts_rows, cut_changes_nothing),
        (answers.counts_places_for_both, trains_one_model),
        (answers.counts_ones, cut_changes_nothing),
        (answers.counts_the_labels_for_both, trains_one_model),
        (answers.counts_none_as_one, trains_one_model),
    ),
    other_part={"place": "divide", "fix": unseen_08.divide},
)
UNSEEN = replace(BOXES, also=(TERMS, WIDTH))
