"""Exercise 07.8: a script the lesson has not shown; four variants, one fault each."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.exercises.compare import letter_in
from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_07 import unseen_answers as answers
from course_utils.exercises.lesson_07.unseen_same import same_pairs, same_replies, same_rows
from course_utils.exercises.settings import OverSeeds, over_seeds
from course_utils.reproductions import unseen_07, unseen_07_parts
from course_utils.reproductions.unseen_07 import CAUSES, Run, Ticket

SEEDS = (0, 1, 2)
KEYS = ("place", "cause", "fix")
ANOTHER_PART = "your function takes the place of another part, so no run was trained with it"


@dataclass(frozen=True)
class _Variant:
    """One broken script with its diagnosis."""

    ticket: Ticket
    place: str
    cause: str
    is_otherwise_the_same: Callable[[Callable], str | None]


class _Tried:
    """A diagnosis with its mend, and the runs trained with it."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        self.answer, self.variant = unseen, variant
        self.letter = letter_in(str(unseen["cause"]))
        self.runs = OverSeeds(
            lambda seed: variant.ticket.fresh(seed, **{variant.place: unseen["fix"]}).train(), SEEDS
        )


def _form(variant: _Variant, unseen: dict) -> str | None:
    places = tuple(variant.ticket.parts)
    if set(unseen) != set(KEYS):
        return f"the keys are {sorted(map(str, unseen))}, and {', '.join(KEYS)} are asked"
    if unseen["place"] not in places:
        return f"place is one of {', '.join(places)}; given is {unseen['place']!r}"
    if letter_in(str(unseen["cause"])) not in CAUSES:
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


@over_seeds
def ends_and_is_right(run: Run) -> str | None:
    last = run.log[-1]
    if last["ends"] == 1 and run.num_generated == unseen_07.LIMIT:
        return f"every reply has its end, and generation ran on to all {run.num_generated} tokens"
    if last["ends"] >= 0.95 and last["right"] >= 0.85:
        return None
    return (
        f"{last['ends']:.0%} of the replies end and {last['right']:.0%} are right, "
        "where 95 % and 85 % are due"
    )


def run_gets_better(tried: _Tried) -> str | None:
    if tried.answer["place"] != tried.variant.place:
        return ANOTHER_PART
    return ends_and_is_right(tried.runs)


def nothing_else_changes(tried: _Tried) -> str | None:
    if tried.answer["place"] != tried.variant.place:
        return ANOTHER_PART
    return tried.variant.is_otherwise_the_same(tried.answer["fix"])


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
        Wrong(good | {"place": "the tokenizer"}, caught_by=fits_the_ticket),
        Wrong(good | {"cause": "z"}, caught_by=fits_the_ticket),
        Wrong(good | {"fix": "append the end"}, caught_by=fits_the_ticket),
        Wrong(good | other_part, caught_by=names_the_place),
        *(Wrong(broken | {"cause": letter}, caught_by=names_the_cause) for letter in tempting),
        Wrong(broken, caught_by=run_gets_better),
        *(Wrong(diagnosis | {"fix": fix}, caught_by=look) for fix, look in wrong_fixes),
    ]
    return Exercise(
        id="07.8",
        name="UNSEEN",
        title=title,
        minutes=10,
        difficulty="a place, a letter, a few lines",
        points=5,
        reads="unseen",
        expects=(dict,),
        hints=(
            "Is the end in the rows, and is it learnt? If all is well there, what is different "
            "between the rows and what the model is given at serving?",
            "Read run.batch and run.served with inspect_batch, and the raw replies of "
            "run.behaviour(): do they hold the end, and what comes behind it?",
            "Take the part that makes what you found. Change the one line of it that your letter "
            "describes, and keep what its comment promises.",
        ),
        form=fits_the_ticket,
        criteria=(
            Criterion(
                "The place is the part that is at fault.",
                names_the_place,
                why="a mend elsewhere hides the fault, or does nothing",
                next="read run.batch and run.served: which of the two is not as it should be?",
            ),
            Criterion(
                "The cause is named.",
                names_the_cause,
                why="each cause has a mend of its own",
                next="look for the end token in the batch, then in the raw replies",
            ),
            Criterion(
                "With your part, replies end and are right on three seeds.",
                run_gets_better,
                why="the loss was healthy before, so it proves nothing",
                next="train a fresh run with your part, and read its replies",
            ),
            Criterion(
                "Everything else of the run stays as it was.",
                nothing_else_changes,
                why="a lower limit or a cut reply looks mended, and is not",
                next="keep what the part returns, for other questions and limits, too",
            ),
        ),
        right=tuple(diagnosis | {"fix": fix} for fix in right),
        wrong=tuple(wrong),
        run=lambda unseen: _Tried(unseen, variant),
        case=lambda: variant.ticket,
        time_limit_s=120.0,
    )


ROOM = _exercise(
    _Variant(unseen_07.no_room_for_the_end(), "encode", "c", same_rows),
    "An unseen run: the first three digits are right",
    right=(
        answers.encodes_whole,
        answers.encodes_with_more_room,
        answers.encodes_by_the_template,
        answers.encodes_with_room_for_the_end,
    ),
    wrong_fixes=(
        (answers.encodes_unlearnt_end, run_gets_better),
        (answers.encodes_end_for_the_last_digit, run_gets_better),
        (answers.encodes_other_prompts, nothing_else_changes),
    ),
    other_part={"place": "answer", "fix": unseen_07_parts.answer},
)
SERVER_ENDS = _exercise(
    _Variant(unseen_07.stops_at_the_base_end(), "answer", "d", same_replies),
    "An unseen run: the server of the base",
    right=(
        answers.answers_with_the_tokenizers_end,
        answers.answers_with_both_ends,
        answers.answers_one_by_one,
        answers.answers_with_a_config,
    ),
    wrong_fixes=(
        (answers.answers_shortly, run_gets_better),
        (answers.answers_cut_behind_the_end, run_gets_better),
        (answers.answers_with_padding_on_the_right, nothing_else_changes),
        (answers.answers_four_tokens, nothing_else_changes),
        (answers.answers_with_a_penalty, nothing_else_changes),
        (answers.answers_digits_only, nothing_else_changes),
    ),
    other_part={"place": "encode", "fix": unseen_07_parts.encode},
)
SERVER_PROMPT = _exercise(
    _Variant(unseen_07.one_line_end_short(), "answer", "f", same_replies),
    "An unseen run: a server of our own",
    right=(
        answers.answers_with_the_tokenizers_end,
        answers.answers_by_hand_with_its_line_end,
        answers.answers_with_a_config,
    ),
    wrong_fixes=(
        (answers.answers_with_a_system_message, run_gets_better),
        (answers.answers_without_a_header, run_gets_better),
        (answers.answers_with_padding_on_the_right, nothing_else_changes),
        (answers.answers_four_tokens, nothing_else_changes),
    ),
    other_part={"place": "collate", "fix": unseen_07_parts.collate},
)
PAIRS = _exercise(
    _Variant(unseen_07.ends_on_one_side(), "encode", "b", same_pairs),
    "An unseen run: typed answers before sampled ones",
    right=(
        answers.encodes_with_one_end,
        answers.encodes_with_an_end_where_none_is,
        answers.encodes_by_the_template_once,
    ),
    wrong_fixes=(
        (answers.encodes_ends_of_the_base, run_gets_better),
        (answers.encodes_without_ends, run_gets_better),
        (answers.encodes_other_prompts_once, nothing_else_changes),
    ),
    other_part={"place": "answer", "fix": unseen_07_parts.answer},
)
UNSEEN = replace(ROOM, also=(SERVER_ENDS, SERVER_PROMPT, PAIRS))
