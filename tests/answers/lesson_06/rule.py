"""Right and wrong answers of exercise 06.3."""

from course_utils.exercises.lesson_06 import rule
from course_utils.exercises.lesson_06.rule import outcome_by_rule
from tests.answers import answers_of

right, wrong = answers_of(rule.RULE)


@right
def outcome_by_table(base_frozen, reentrant, inputs_marked, head_trained):
    cut = {(True, True, False, True): "silent", (True, True, False, False): "error"}
    facts = (bool(base_frozen), bool(reentrant), bool(inputs_marked), bool(head_trained))
    return cut.get(facts, "trains")


@wrong(caught_by=rule.knows_the_silence)
def outcome_never_silent(base_frozen, reentrant, inputs_marked, head_trained):
    return "error" if base_frozen and reentrant and not inputs_marked else "trains"


@wrong(caught_by=rule.knows_the_silence)
def outcome_head_saves(base_frozen, reentrant, inputs_marked, head_trained):
    cut = base_frozen and reentrant and not inputs_marked and not head_trained
    return "error" if cut else "trains"


@wrong(caught_by=rule.knows_what_trains)
def outcome_by_checkpoint(base_frozen, reentrant, inputs_marked, head_trained):
    if not reentrant or inputs_marked:
        return "trains"
    return "silent" if head_trained else "error"


@wrong(caught_by=rule.knows_the_error)
def outcome_always_silent(base_frozen, reentrant, inputs_marked, head_trained):
    return "silent" if base_frozen and reentrant and not inputs_marked else "trains"


@wrong(caught_by=rule.knows_what_trains)
def outcome_by_base(base_frozen, reentrant, inputs_marked, head_trained):
    return "error" if base_frozen and not inputs_marked else "trains"


@right
def outcome_by_counting(base_frozen, reentrant, inputs_marked, head_trained):
    guards = [not base_frozen, not reentrant, inputs_marked]
    return "trains" if any(guards) else ("error", "silent")[int(head_trained)]


@wrong(caught_by=rule.says_one_of_three_words)
def outcome_as_a_boolean(base_frozen, reentrant, inputs_marked, head_trained):
    return not base_frozen or not reentrant or inputs_marked


@wrong(caught_by=rule.says_one_of_three_words)
def outcome_in_other_words(base_frozen, reentrant, inputs_marked, head_trained):
    found = outcome_by_rule(base_frozen, reentrant, inputs_marked, head_trained)
    return found.replace("trains", "healthy")


@wrong(caught_by=rule.knows_the_error)
def outcome_words_swapped(base_frozen, reentrant, inputs_marked, head_trained):
    if not (base_frozen and reentrant) or inputs_marked:
        return "trains"
    return "error" if head_trained else "silent"


@wrong(caught_by=rule.knows_what_trains)
def outcome_silent_for_every_head(base_frozen, reentrant, inputs_marked, head_trained):
    if base_frozen and reentrant and head_trained:
        return "silent"
    return outcome_by_rule(base_frozen, reentrant, inputs_marked, head_trained)
