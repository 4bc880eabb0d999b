"""The closing quiz of lesson 09."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "09.10",
    "bc",
    minutes=1,
    hints=(
        "Which number of this lesson did not foretell the harm?",
        "Whose log-probs does the ratio of PPO have below it, and are they the sampler's?",
    ),
    whys=(
        "an engine of 3 bits differs less than a hot one, and harms more",
        "recomputed by the trainer, old and new are the same numbers",
    ),
    nexts=(
        "look at the table of ten seeds once more",
        "look at what section 9 printed of all recorded runs, the ruined ones among them",
    ),
)
