"""An untied head, then a reward that reads after a tag, then the wrong end token."""

from course_utils.oncall.cases import ends_a_turn_like_the_base, head_untied, reads_behind_a_tag
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="untied_then_tag_then_other_end",
    level=3,
    template="grpo_sums",
    ticket="Somebody ported our adder to the house framework. It compiles, as he put "
    "it. When I talk to it there is only gibberish, and he answers that one "
    "should be patient with such things. I have been patient for a month.",
    faults=(
        *head_untied.CASE.faults,
        *reads_behind_a_tag.CASE.faults,
        *ends_a_turn_like_the_base.CASE.faults,
    ),
    non_fixes={
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 1.0e-3"),),
    },
)
