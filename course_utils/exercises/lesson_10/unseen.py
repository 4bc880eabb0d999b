"""Exercise 10.8: a script the lesson has not shown; three variants, one fault each."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.exercises.compare import letter_in
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_10 import unseen_answers as answers
from course_utils.exercises.lesson_10.mend import (
    AT_LEAST,
    SEEDS,
    gives_numbers,
    pays_no_known_trick,
    truth_rises,
)
from course_utils.exercises.lesson_10.verifier import is_the_sum
from course_utils.exercises.settings import OverSeeds
from course_utils.reproductions import unseen_10
from course_utils.reproductions.reward_up import held_out_truth
from course_utils.reproductions.unseen_10 import CAUSES, HEALTHY, NUM_STEPS, Ticket

KEYS = ("place", "cause", "fix")
NOT_TRAINED = "nothing was trained: a demand above it is not met"


@dataclass(frozen=True)
class _Variant:
    """One broken script with its diagnosis."""

    ticket: Ticket
    place: str
    cause: str
    keeps_the_rest: Callable[[Callable], str | None]


def keeps_the_reward_a_reward(fix: Callable) -> str | None:
    return gives_numbers(fix) or pays_no_known_trick(fix)


def keeps_the_settings(fix: Callable) -> str | None:
    """All but the limit, whose worth the runs show."""
    got, want = fix(), unseen_10.settings_for_speed()
    if not isinstance(got, dict):
        return f"settings() gives a {type(got).__name__}, where a dict is asked"
    for key in want.keys() | got.keys():
        if key != "max_completion_length" and got.get(key) != want.get(key):
            return f"{key} was {want.get(key)} and is {got.get(key)}; it was not at fault"
    return None


class _Tried:
    """A diagnosis with its mend, and the runs trained with it."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        self.answer, self.variant = unseen, variant
        self.place = _place_in(unseen)
        self.letter = letter_in(str(unseen["cause"]))
        parts = HEALTHY | variant.ticket.parts | {variant.place: unseen["fix"]}
        self.runs = OverSeeds(lambda seed: _outcome(parts, seed), SEEDS)


def _outcome(parts: dict, seed: int) -> dict[int, float]:
    settings = dict(parts["settings"]())
    if settings == unseen_10.settings():
        settings = {}  # they are those of every run, which may be known
    return held_out_truth(
        parts["reward"], is_right=is_the_sum, seed=seed, num_steps=NUM_STEPS, **settings
    )


def _place_in(unseen: dict) -> str:
    return str(unseen["place"]).strip().lower()


def _form(variant: _Variant, unseen: dict) -> str | None:
    places = tuple(variant.ticket.parts)
    if set(unseen) != set(KEYS):
        return f"the keys are {sorted(map(str, unseen))}, and {', '.join(KEYS)} are asked"
    if _place_in(unseen) not in places:
        return f"place is one of {', '.join(places)}; given is {unseen['place']!r}"
    if letter_in(str(unseen["cause"])) not in CAUSES:
        return f"cause is a letter from a to {max(CAUSES)}; given is {unseen['cause']!r}"
    if not callable(unseen["fix"]):
        return f"fix is a function that takes the part's place; given is {unseen['fix']!r}"
    return None


def names_the_place(tried: _Tried) -> str | None:
    if tried.place == tried.variant.place:
        return None
    return f"your place is {tried.place}, and that part does what it should"


def names_the_cause(tried: _Tried) -> str | None:
    if tried.letter == tried.variant.cause:
        return None
    return f"your cause is {tried.letter}) {CAUSES[tried.letter]}; this run does not show it"


def nothing_else_changes(tried: _Tried) -> str | None:
    if names_the_place(tried):
        return NOT_TRAINED
    return tried.variant.keeps_the_rest(tried.answer["fix"])


def run_gets_better(tried: _Tried) -> str | None:
    return NOT_TRAINED if nothing_else_changes(tried) else truth_rises(tried.runs)


def _exercise(variant: _Variant, title: str, *, right, wrong_fixes, other_part) -> Exercise:
    """The exercise on one variant; what it lists are mends, put into whole answers here."""
    diagnosis = {"place": variant.place, "cause": variant.cause}
    tempting = [letter for letter in CAUSES if letter != variant.cause][:3]

    def fits_the_ticket(unseen: dict) -> str | None:
        return _form(variant, unseen)

    good = diagnosis | {"fix": right[0]}
    spelt = good | {"place": f" {variant.place.title()}", "cause": f"{variant.cause.upper()})"}
    wrong = [
        Wrong({}, caught_by=fits_the_ticket),
        Wrong(good | {"place": "the model"}, caught_by=fits_the_ticket),
        Wrong(good | {"cause": "z"}, caught_by=fits_the_ticket),
        Wrong(good | {"fix": "pay right replies"}, caught_by=fits_the_ticket),
        Wrong(good | other_part, caught_by=names_the_place),
        *(Wrong(good | {"cause": letter}, caught_by=names_the_cause) for letter in tempting),
        *(Wrong(diagnosis | {"fix": fix}, caught_by=look) for fix, look in wrong_fixes),
    ]
    return Exercise(
        id="10.8",
        name="UNSEEN",
        title=title,
        minutes=8,
        difficulty="a place, a letter, a few lines",
        points=5,
        reads="unseen",
        expects=(dict,),
        hints=(
            "Is there signal? Look at zero_std and at grad_norm. If there is, what is paid?",
            "Rank the replies of script.run.batches[0] by what the part `reward` gives them: what "
            "earns most, a right one, a wrong one, none? If all earn the same, ask why.",
            "The part that you found: give 1 for a right reply and 0 for all others, or let "
            "replies be long enough to be right. Keep everything else.",
        ),
        form=fits_the_ticket,
        criteria=(
            Criterion(
                "The place is the part that is at fault.",
                names_the_place,
                why="a mend elsewhere hides the fault, or does nothing",
                next="call each part by hand on a right reply, a wrong one and an empty one",
            ),
            Criterion(
                "The cause is named.",
                names_the_cause,
                why="each cause has a mend of its own",
                next="say what your cause would show in zero_std, reward and length; is it there?",
            ),
            Criterion(
                "A reward pays a right number most; settings keep all that was not at fault.",
                nothing_else_changes,
                why="a part is tried by hand before three runs are spent on it",
                next="compare your part with the old one on what was seen here",
            ),
            Criterion(
                f"With it, held-out truth is at least {AT_LEAST} on three seeds.",
                run_gets_better,
                why="the proxy looked well before, so it proves nothing",
                next="train a fresh run with your part, and print its run.audit",
            ),
        ),
        right=(*(diagnosis | {"fix": fix} for fix in right), spelt),
        wrong=tuple(wrong),
        run=lambda unseen: _Tried(unseen, variant),
        case=lambda: variant.ticket,
        time_limit_s=180.0,
    )


SILENCE = _exercise(
    _Variant(unseen_10.silence_is_golden(), "reward", "c", keeps_the_reward_a_reward),
    "An unseen run: a dense reward",
    right=(answers.pays_the_sum, answers.silence_is_worst, answers.pays_nearness),
    wrong_fixes=(
        (unseen_10.reward_by_distance, nothing_else_changes),
        (answers.distance_with_an_offset, nothing_else_changes),
        (answers.pays_any_attempt, nothing_else_changes),
        (answers.pays_a_hair_more, run_gets_better),
    ),
    other_part={"place": "settings", "fix": unseen_10.settings},
)
ROOM = _exercise(
    _Variant(unseen_10.no_room(), "settings", "e", keeps_the_settings),
    "An unseen run: made faster",
    right=(unseen_10.settings, answers.settings_with_room, answers.settings_by_hand),
    wrong_fixes=(
        (unseen_10.settings_for_speed, run_gets_better),
        (answers.settings_hotter, nothing_else_changes),
        (answers.settings_with_room_and_a_rate, nothing_else_changes),
        (answers.settings_as_a_list, nothing_else_changes),
    ),
    other_part={"place": "reward", "fix": answers.pays_the_beginning},
)
AVERAGE = _exercise(
    _Variant(unseen_10.last_years_average(), "reward", "a", keeps_the_reward_a_reward),
    "An unseen run: a solid average",
    right=(answers.pays_the_number, answers.pays_json_that_is_a_number, is_the_sum),
    wrong_fixes=(
        (unseen_10.reward_from_json, nothing_else_changes),
        (answers.json_or_a_half, nothing_else_changes),
        (answers.json_or_nothing, nothing_else_changes),
        (answers.pays_a_hair_more, run_gets_better),
    ),
    other_part={"place": "sums", "fix": unseen_10.sums},
)
UNSEEN = replace(SILENCE, also=(ROOM, AVERAGE))
