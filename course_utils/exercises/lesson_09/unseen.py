"""Exercise 09.9: a script the lesson has not shown; three variants, one fault each."""

from dataclasses import dataclass, replace

from course_utils.checking import leaves_its_inputs_alone
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_09 import runs
from course_utils.exercises.lesson_09 import unseen_answers as answers
from course_utils.exercises.lesson_09.runs import Mended
from course_utils.exercises.settings import OverSeeds, over_seeds
from course_utils.reproductions import unseen_09
from course_utils.reproductions.unseen_09 import CAUSES, Ticket

SEEDS = (31, 32, 33)
KEYS = ("place", "cause", "fix")
ELSEWHERE = "your function takes the place of another part, so no run was trained with it"


@dataclass(frozen=True)
class _Variant:
    """One broken script with its diagnosis."""

    ticket: Ticket
    place: str
    cause: str


class _Tried:
    """A diagnosis with its mend, and the runs trained with it."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        self.answer, self.variant = unseen, variant
        self.letter = str(unseen["cause"]).strip().lower()
        changes = {variant.place: unseen["fix"]}
        self.runs = OverSeeds(
            lambda seed: Mended(variant.ticket.fresh(seed, **changes).loop), SEEDS
        )


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
    if tried.answer["place"] == tried.variant.place:
        return None
    return f"your place is {tried.answer['place']}, and that part does what it should"


def names_the_cause(tried: _Tried) -> str | None:
    if tried.letter == tried.variant.cause:
        return None
    return f"your cause is {tried.letter}) {CAUSES[tried.letter]}; this run does not show it"


def both_sides_agree(tried: _Tried) -> str | None:
    return ELSEWHERE if names_the_place(tried) else tried.runs.first_unmet(runs.agrees)


@over_seeds
def _learns(mended: Mended) -> str | None:
    return runs.learns(mended)


def policy_still_learns(tried: _Tried) -> str | None:
    return both_sides_agree(tried) or _learns(tried.runs)


AGREE = Criterion(
    "With it both sides agree in three rollouts, on three seeds.",
    both_sides_agree,
    why="what is still different is still learned from",
    next="print patient.fresh(1, **{place: fix}).train().compare()",
)
LEARN = Criterion(
    "And after four the policy has moved and is not broken.",
    policy_still_learns,
    why="two sides agree also where nothing is trained",
    next="mend the side that is wrong; leave the other one alone",
)
BOTH = Criterion(
    "With it both sides agree on three seeds, and the policy still learns.",
    policy_still_learns,
    why="what is still different is still learned from",
    next="print patient.fresh(1, **{place: fix}).train().compare()",
)


def _exercise(
    variant: _Variant, title: str, *, right, wrong_fixes, elsewhere, may_change=()
) -> Exercise:
    """The exercise on one variant; what it lists are mends, put into whole answers here."""
    looks = {look for _, look in wrong_fixes}
    trained = (AGREE, LEARN) if both_sides_agree in looks else (BOTH,)
    diagnosis = {"place": variant.place, "cause": variant.cause}
    tempting = [letter for letter in CAUSES if letter != variant.cause][:3]

    def fits_the_ticket(unseen: dict) -> str | None:
        return _form(variant, unseen)

    good = diagnosis | {"fix": right[0]}
    wrong = [
        Wrong({}, caught_by=fits_the_ticket),
        Wrong(good | {"place": "the model"}, caught_by=fits_the_ticket),
        Wrong(good | {"cause": "z"}, caught_by=fits_the_ticket),
        Wrong(good | {"fix": "sync"}, caught_by=fits_the_ticket),
        Wrong(good | elsewhere, caught_by=names_the_place),
        *(Wrong(good | {"cause": letter}, caught_by=names_the_cause) for letter in tempting),
        *(Wrong(diagnosis | {"fix": fix}, caught_by=look) for fix, look in wrong_fixes),
    ]
    return Exercise(
        id="09.9",
        name="UNSEEN",
        title=title,
        minutes=8,
        difficulty="a place, a letter, a few lines",
        points=5,
        reads="unseen",
        expects=(dict,),
        hints=(
            "Is there a difference before the first step, or only after some? compare() tells.",
            "Call each part by hand: what does it get, what does it give, and what does the engine "
            "do with the same?",
            "The part that you found, with the one line changed: hand all weights over, divide "
            "before the softmax, or leave the prompt's ids as they are.",
        ),
        form=fits_the_ticket,
        criteria=(
            Criterion(
                "The place is the part that is at fault.",
                names_the_place,
                why="a mend elsewhere hides the fault, or does nothing",
                next="compare() at the start and after some steps: what changed in between?",
            ),
            Criterion(
                "The cause is named.",
                names_the_cause,
                why="each cause has a mend of its own",
                next="say what your cause would leave in the table of compare(); is it there?",
            ),
            *trained,
        ),
        right=tuple(diagnosis | {"fix": fix} for fix in right),
        wrong=tuple(wrong),
        run=lambda unseen: _Tried(unseen, variant),
        case=lambda: variant.ticket,
        may_change=may_change,
        time_limit_s=180.0,
    )


NEVER = _exercise(
    _Variant(unseen_09.never_loaded(), "sync", "a"),
    "An unseen run: a score that stands still",
    right=(answers.by_state_dict, answers.by_copy, answers.strictly_renamed),
    wrong_fixes=(
        (unseen_09.sync_by_name, policy_still_learns),
        (answers.only_matrices, policy_still_learns),
        (answers.halfway, policy_still_learns),
        (answers.the_other_way, leaves_its_inputs_alone),
    ),
    elsewhere={"place": "score", "fix": unseen_09.score},
    may_change=(0,),
)
DIVIDED = _exercise(
    _Variant(unseen_09.divided_late(), "score", "b"),
    "An unseen run: mended last week",
    right=(answers.divides_first, answers.by_logsumexp, answers.by_cross_entropy),
    wrong_fixes=(
        (unseen_09.score_then_divide, both_sides_agree),
        (answers.at_one, both_sides_agree),
        (answers.multiplies, both_sides_agree),
        (answers.without_graph, policy_still_learns),
    ),
    elsewhere={"place": "settings", "fix": unseen_09.settings},
)
STRIPPED = _exercise(
    _Variant(unseen_09.stripped(), "prompt_of", "c"),
    "An unseen run: a template of its own",
    right=(answers.as_they_are, answers.a_copy, answers.one_newline),
    wrong_fixes=(
        (unseen_09.prompt_of_text, policy_still_learns),
        (answers.two_newlines, policy_still_learns),
        (answers.last_tokens, policy_still_learns),
        (answers.without_roles, policy_still_learns),
    ),
    elsewhere={"place": "sync", "fix": unseen_09.sync},
)
UNSEEN = replace(NEVER, also=(DIVIDED, STRIPPED))
