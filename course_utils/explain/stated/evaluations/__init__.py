"""Tables of scores and of runs side by side, and what an evaluation counts."""

from course_utils.explain.stated.evaluations.benchmarks import turned_round
from course_utils.explain.stated.evaluations.comparisons import compared
from course_utils.explain.stated.evaluations.cut_short import cut_replies_counted
from course_utils.explain.stated.evaluations.judged_by_step import (
    judged_worse_by_step,
    judged_worse_without_a_kl,
)
from course_utils.explain.stated.evaluations.one_column import one_column
from course_utils.explain.stated.evaluations.one_shard import same_part_judged
from course_utils.explain.stated.evaluations.read_in_part import number_read_in_part

RULES = (
    compared,
    turned_round,
    judged_worse_by_step,
    judged_worse_without_a_kl,
    one_column,
    same_part_judged,
    number_read_in_part,
    cut_replies_counted,
)
