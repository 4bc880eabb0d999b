"""Right and wrong answers of exercise 02.8."""

from course_utils.exercises.lesson_02.unseen import HANG, KEYS, ON_HANG, ON_SIGBUS, SIGBUS, Truth
from tests.answers import answers_of


def as_it_was(truth: Truth) -> dict[str, object]:
    """The option that the fix is about, with the value that is in use already."""
    return {name: truth.job.options[name][0] for name in truth.fix}


def _add(exercise, truth: Truth, right: tuple, wrong_as: dict) -> None:
    """`wrong_as` holds wrong parts, by the key they belong to."""
    add_right, wrong = answers_of(exercise)
    best, form = exercise.answer, exercise.form
    looks = dict(zip(KEYS, (one.observe for one in exercise.criteria), strict=True))
    for parts in right[1:]:
        add_right(best | parts)
    wrong({key: best[key] for key in KEYS[:4]}, caught_by=form)
    for change in (
        {"settings": truth.settings[0]},
        {"settings": [truth.place]},
        {"fix": truth.fix | {"clip": 0.1}},
        {"fix": as_it_was(truth)},
        {"fix": {truth.settings[1]: False}},
        {"fix": {"seed": 4}},
        {"place": " "},
        {"settings": [["lr"]]},
    ):
        wrong(best | change, caught_by=form)
    for settings in (truth.settings[:1], set(truth.job.fails), []):
        wrong(best | {"settings": settings}, caught_by=looks["settings"])
    for key, values in wrong_as.items():
        for value in values:
            wrong(best | {key: value}, caught_by=looks[key])


_add(
    ON_HANG,
    HANG,
    right=(
        {},
        {"ended": "hang", "settings": ["targets", "teacher"], "cause": "B"},
        {"place": "unseen_02.py, line 99, in ask_teacher", "settings": {"teacher", "targets"}},
    ),
    wrong_as=dict(
        ended=("SIGABRT", "SIGKILL", "lived", "-6"),
        place=("poll", "join", "train_on_teacher", "log_probs"),
        settings=(("teacher", "replies"), ("targets", "max_tokens")),
        cause="acdf",
        fix=({"queue_size": 8}, {"sent_as": "float16"}),
    ),
)
_add(
    ON_SIGBUS,
    SIGBUS,
    right=(
        {},
        {"ended": "sigbus", "settings": ["renew", "tokens"], "cause": "E)"},
        {"place": "unseen_02.py, line 65, in read_batch", "settings": {"tokens", "renew"}},
    ),
    wrong_as=dict(
        ended=("SIGSEGV", "SIGKILL", "SIGFPE", "time limit"),
        place=("__getitem__", "train_on_tokens", "write_tokens", "run"),
        settings=(("tokens", "shuffle"), ("renew", "batch_size", "seq_len")),
        cause="abcf",
        fix=({"on_disk": "int64"}, {"clip": 0.1}),
    ),
)
