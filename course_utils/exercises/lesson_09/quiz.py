"""The closing quiz of lesson 09."""

from course_utils.exercises.quiz import two_letters

QUIZ = two_letters(
    "09.10",
    "bc",
    minutes=1,
    hints=(
        "Which number of this lesson did not foretell the harm?",
        "Whose log-probs does the ratio of PPO have below it, and are they the sampler's?",
    ),
    whys=(
        "another text of 5 nats ruins a run, and a hot sampler of 0.8 nats does not",
        "recomputed by the trainer, old and new are the same numbers",
    ),
    nexts=(
        "look at the table of ten seeds once more",
        "look at the clip column of the runs with a system prompt",
    ),
)
