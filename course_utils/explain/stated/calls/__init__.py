"""Calls that are wrong whatever the numbers say."""

from course_utils.explain.stated.calls.cut_off import wrong_in_the_graph
from course_utils.explain.stated.calls.half import wrong_in_the_format
from course_utils.explain.stated.calls.kept import wrong_in_what_is_kept
from course_utils.explain.stated.calls.layouts import (
    laid_out_otherwise,
    opened_behind_the_end,
    padded_on_the_right,
)
from course_utils.explain.stated.calls.stepped import wrong_in_the_step
from course_utils.explain.stated.calls.tokens import wrong_tokens
from course_utils.explain.stated.calls.trained import wrong_in_what_is_trained

RULES = (
    wrong_tokens,
    laid_out_otherwise,
    opened_behind_the_end,
    padded_on_the_right,
    wrong_in_what_is_trained,
    wrong_in_the_step,
    wrong_in_the_format,
    wrong_in_the_graph,
    wrong_in_what_is_kept,
)
