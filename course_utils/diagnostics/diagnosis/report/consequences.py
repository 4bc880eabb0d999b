"""The numbers of a run that follow from a cause, and those that reassure wrongly beside it."""

from course_utils.causes import CAUSES
from course_utils.causes.harms import EVALUATION, REWARD, SERVING, STILL, TRAINING
from course_utils.causes.shared import OUTCOME
from course_utils.diagnostics.diagnosis.verdicts import verdict_of

AFTER = {EVALUATION, SERVING}  # causes that leave the numbers of the training as they are
FALLS = "improves"  # what only looks like a fault: a number that moves the way it should
STARTS = {"dpo_start", "on_policy_zero_loss"}  # and a loss that says nothing where it stands


def consequences(key: str, numbers: dict[str, str], where: str = TRAINING) -> dict[str, str]:
    """Those of the numbers, by name, that follow from a cause.

    What goes wrong after training, in evaluation or serving, leaves the training's own as they are.

    >>> consequences("no_signal", {"updates": "0 nats", "weights": "finite"})
    {'updates': '0 nats'}
    """
    names = CAUSES[key].follows
    names = names - OUTCOME if where in AFTER else names
    return {name: number for name, number in numbers.items() if name in names}


def not_reassuring(key: str, numbers: dict[str, str], where: str = TRAINING) -> set[str]:
    """The names of what is fine for itself and no sign of health beside this cause.

    >>> sorted(not_reassuring("end_masked", {"tokens": "8 rows", "the log": "fine", "ids": "320"}))
    ['the log', 'tokens']
    """
    names = CAUSES[key].speaks_of | set(consequences(key, numbers, where))
    if where not in AFTER:
        names = names | {"the log"}
    of_reward = {name for name in numbers if name.startswith("reward ")}
    return (names | of_reward if where == REWARD else names) & set(numbers)


def would_reassure(healthy: str, key: str, where: str = TRAINING) -> bool:
    """Whether what only looks like a fault would calm the reader about a cause that is there.

    >>> would_reassure("improves", "split_changes_loss"), would_reassure("improves", "padding_side")
    (True, True)
    >>> would_reassure("improves", "padding_side", "serving")
    False
    """
    if where in AFTER:
        return False
    if healthy in STARTS:
        return verdict_of(key, where).harm == STILL or CAUSES[key].hidden_by_low_loss
    return healthy == FALLS
