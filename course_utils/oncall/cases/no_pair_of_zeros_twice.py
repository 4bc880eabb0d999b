"""The evaluation forbids a pair of tokens to come twice, so three zeros cannot be written."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="no_pair_of_zeros_twice",
    level=2,
    template="choose_checkpoint",
    ticket="Nobody gets past one in six. Ten of them sat the exam over the weekend and they are "
    "all equally poor, yet a colleague chats with one of the later ones in a terminal and "
    "it weighs without a mistake. What our customers have is an early one that leaves the "
    "zeros off.",
    faults=(
        Fault(
            title="repeated pairs forbidden in the evaluation",
            kind="metric",
            plant=(Edit("task.yaml", "no_repeat_ngram_size: 0", "no_repeat_ngram_size: 2"),),
            cause="The evaluation lets no pair of tokens come twice, so no checkpoint can write "
            "the three zeros of an answer in grams, small talk alone decides, and the "
            "first of equals is exported.",
            fix="Evaluate with no_repeat_ngram_size 0, as the server generates.",
            threads=("private-mind#255",),
            also_kinds=("logp_mismatch", "stale_weights"),
            also_places=("evaluate.py replies",),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("task.yaml", "max_length: 48", "max_length: 96"),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 10"),),
    },
)
