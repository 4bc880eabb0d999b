"""Drops or rewords what a log suggests and a count of the run itself refutes."""

from dataclasses import replace

from course_utils.diagnostics.diagnosis.sheet.finding import Found, Sheet

STILL = {"nothing_moves", "weights_do_not_move"}  # by a log, which shows no weight
FOLLOWS_ALONG = (
    "policy and reference give the same log-probs in every entry while the weights move: the "
    "reference moves along, or is not what the loss compares with"
)
OWN_COPY = (
    "give ref_model a copy of its own, made before training, and let nothing write into it: no "
    "callback, no sync_ref_model"
)


def not_refuted(found: list[Found], sheet: Sheet) -> list[Found]:
    """The findings, without a log's guess that nothing moves where the weights were seen to."""
    if "weights that move" not in sheet.cleared:
        return found
    kept = [one for one in found if not (one.is_of_log and one.key in STILL)]
    return [_reworded(one) for one in kept]


def _reworded(one: Found) -> Found:
    if not one.is_of_log or one.key != "policy_is_reference":
        return one
    return replace(one, key="reference_moves", why=FOLLOWS_ALONG, advice=OWN_COPY)
