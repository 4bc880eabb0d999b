"""Exercise 07.8: a script the lesson has not shown; four variants, one fault each."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, of_the_mend
from course_utils.checks.declare import Criterion
from course_utils.checks.settings import OverSeeds, over_seeds
from course_utils.exercises.lesson_07.unseen_same import same_pairs, same_replies, same_rows
from course_utils.reproductions.lesson_07 import unseen_07
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
        return f"every reply has its end, but generation went on to all {run.num_generated} tokens"
    if last["ends"] >= 0.95 and last["right"] >= 0.85:
        return None
    return (
        f"{last['ends']:.0%} of the replies end and {last['right']:.0%} are right, "
        "where at least 95 % and 85 % are needed"
    )


@of_the_mend
def run_gets_better(tried: _Tried) -> str | None:
    return ends_and_is_right(tried.runs)


@of_the_mend
def nothing_else_changes(tried: _Tried) -> str | None:
    return tried.variant.is_otherwise_the_same(tried.fix)


ASKED = Asked(
    id="07.8",
    minutes=12,
    hints=(
        "Is the end in the rows, and is it learnt? If so, what is different "
        "between the rows and what the model gets at serving?",
        "Read run.batch and run.served with inspect_batch, and the raw replies of "
        "run.behaviour(): do they hold the end, and what comes after it?",
        "Take the part that causes what you found. Change the one line that your letter "
        "describes, and keep what its docstring promises.",
    ),
    place_next="read run.batch and run.served: which of the two is not as it should be?",
    cause_next="look for the end token in the batch, then in the raw replies",
    tried=_Tried,
    time_limit_s=120.0,
)
# Where the script shows the cause better than its end tokens do.
IN_THE_SCRIPT = replace(
    ASKED, cause_next="read the script: is an end put there, and what happens after that?"
)
IN_THE_PROMPT = replace(ASKED, cause_next="compare run.batch and run.served, token by token")
MENDED = (
    Criterion(
        "With your part, replies end and are right on three seeds.",
        run_gets_better,
        why="the loss looked healthy before, so only replies can prove the fix",
        next="train a fresh run with your part and read its replies",
    ),
    Criterion(
        "Everything else of the run stays as it was.",
        nothing_else_changes,
        why="a fix must not change other rows or replies, such as by a lower limit or another "
        "layout",
        next="compare what your part and the old one return for other questions and limits",
    ),
)


def encodes_whole(question, answer, tokenizer):
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(prompt)["input_ids"]
    reply = tokenizer(answer + tokenizer.eos_token)["input_ids"]
    return {"input_ids": prompt + reply, "labels": [-100] * len(prompt) + reply}


def encodes_with_one_end(question, answer, tokenizer):
    return encodes_whole(question, answer.removesuffix(tokenizer.eos_token), tokenizer)


def answers_with_the_tokenizers_end(model, tokenizer, questions, limit):
    chats = [[{"role": "user", "content": question}] for question in questions]
    asked = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    whole = model.generate(**batch, max_new_tokens=limit, do_sample=False, **ends)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


ROOM = IN_THE_SCRIPT.on(
    _Variant(unseen_07.no_room_for_the_end(), "encode", "c", same_rows),
    "An unseen run: the first three digits are right",
    mend=encodes_whole,
    mended=MENDED,
)
SERVER_ENDS = ASKED.on(
    _Variant(unseen_07.stops_at_the_base_end(), "answer", "d", same_replies),
    "An unseen run: the server of the base model",
    mend=answers_with_the_tokenizers_end,
    mended=MENDED,
)
SERVER_PROMPT = IN_THE_PROMPT.on(
    _Variant(unseen_07.one_line_end_short(), "answer", "f", same_replies),
    "An unseen run: a server of our own",
    mend=answers_with_the_tokenizers_end,
    mended=MENDED,
)
PAIRS = IN_THE_SCRIPT.on(
    _Variant(unseen_07.ends_on_one_side(), "encode", "b", same_pairs),
    "An unseen run: typed answers against sampled ones",
    mend=encodes_with_one_end,
    mended=MENDED,
)
UNSEEN = replace(ROOM, also=(SERVER_ENDS, SERVER_PROMPT, PAIRS))
