"""Exercise 07.8: a script the lesson has not shown; four variants, one fault each."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, of_the_mend
from course_utils.checks.declare import Criterion
from course_utils.checks.settings import OverSeeds, over_seeds
from course_utils.exercises.lesson_07 import unseen_answers as answers
from course_utils.exercises.lesson_07.unseen_same import same_pairs, same_replies, same_rows
from course_utils.reproductions.lesson_07 import unseen_07, unseen_parts
from course_utils.reproductions.lesson_07.unseen_07 import Run

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class _Variant(Variant):
    is_otherwise_the_same: Callable[[Callable], str | None]


class _Tried(Diagnosis):
    """A diagnosis, and the runs trained with its mend."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        super().__init__(unseen, variant)
        self.runs = OverSeeds(
            lambda seed: variant.ticket.fresh(seed, **{self.place: self.fix}).train(), SEEDS
        )


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


@of_the_mend
def run_gets_better(tried: _Tried) -> str | None:
    return ends_and_is_right(tried.runs)


@of_the_mend
def nothing_else_changes(tried: _Tried) -> str | None:
    return tried.variant.is_otherwise_the_same(tried.fix)


ASKED = Asked(
    id="07.8",
    minutes=10,
    hints=(
        "Is the end in the rows, and is it learnt? If all is well there, what is different "
        "between the rows and what the model is given at serving?",
        "Read run.batch and run.served with inspect_batch, and the raw replies of "
        "run.behaviour(): do they hold the end, and what comes behind it?",
        "Take the part that makes what you found. Change the one line of it that your letter "
        "describes, and keep what its comment promises.",
    ),
    place_next="read run.batch and run.served: which of the two is not as it should be?",
    cause_next="look for the end token in the batch, then in the raw replies",
    tried=_Tried,
    time_limit_s=120.0,
)
MENDED = (
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
)


ROOM = ASKED.on(
    _Variant(unseen_07.no_room_for_the_end(), "encode", "c", same_rows),
    "An unseen run: the first three digits are right",
    right=(
        answers.encodes_whole,
        answers.encodes_with_more_room,
        answers.encodes_by_the_template,
        answers.encodes_with_room_for_the_end,
    ),
    wrong=(
        (answers.encodes_unlearnt_end, run_gets_better),
        (answers.encodes_end_for_the_last_digit, run_gets_better),
        (answers.encodes_other_prompts, nothing_else_changes),
    ),
    unmended=run_gets_better,
    elsewhere={"place": "answer", "fix": unseen_parts.answer},
    mended=MENDED,
)
SERVER_ENDS = ASKED.on(
    _Variant(unseen_07.stops_at_the_base_end(), "answer", "d", same_replies),
    "An unseen run: the server of the base",
    right=(
        answers.answers_with_the_tokenizers_end,
        answers.answers_with_both_ends,
        answers.answers_one_by_one,
        answers.answers_with_a_config,
    ),
    wrong=(
        (answers.answers_shortly, run_gets_better),
        (answers.answers_cut_behind_the_end, run_gets_better),
        (answers.answers_with_padding_on_the_right, nothing_else_changes),
        (answers.answers_four_tokens, nothing_else_changes),
        (answers.answers_with_a_penalty, nothing_else_changes),
        (answers.answers_digits_only, nothing_else_changes),
    ),
    unmended=run_gets_better,
    elsewhere={"place": "encode", "fix": unseen_parts.encode},
    mended=MENDED,
)
SERVER_PROMPT = ASKED.on(
    _Variant(unseen_07.one_line_end_short(), "answer", "f", same_replies),
    "An unseen run: a server of our own",
    right=(
        answers.answers_with_the_tokenizers_end,
        answers.answers_by_hand_with_its_line_end,
        answers.answers_with_a_config,
    ),
    wrong=(
        (answers.answers_with_a_system_message, run_gets_better),
        (answers.answers_without_a_header, run_gets_better),
        (answers.answers_with_padding_on_the_right, nothing_else_changes),
        (answers.answers_four_tokens, nothing_else_changes),
    ),
    unmended=run_gets_better,
    elsewhere={"place": "collate", "fix": unseen_parts.collate},
    mended=MENDED,
)
PAIRS = ASKED.on(
    _Variant(unseen_07.ends_on_one_side(), "encode", "b", same_pairs),
    "An unseen run: typed answers before sampled ones",
    right=(
        answers.encodes_with_one_end,
        answers.encodes_with_an_end_where_none_is,
        answers.encodes_by_the_template_once,
    ),
    wrong=(
        (answers.encodes_ends_of_the_base, run_gets_better),
        (answers.encodes_without_ends, run_gets_better),
        (answers.encodes_other_prompts_once, nothing_else_changes),
    ),
    unmended=run_gets_better,
    elsewhere={"place": "answer", "fix": unseen_parts.answer},
    mended=MENDED,
)
UNSEEN = replace(ROOM, also=(SERVER_ENDS, SERVER_PROMPT, PAIRS))
