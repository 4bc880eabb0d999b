"""The closing quiz of lesson 09."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "09.10",
    "bc",
    minutes=1,
    hints=(
        "Question 1: compare int4, int3 and int2 with each other, and then int3 with T 2.",
        "Question 2: whose log-probs are in the denominator of PPO's ratio: the sampler's?",
    ),
    whys=(
        "an engine of 3 bits differs less than a hot one and ends lower",
        "if the trainer recomputes the old log-probs, old and new are the same numbers",
    ),
    nexts=(
        "look at the table of ten seeds once more",
        "look at what deeper look C printed about all recorded runs, including the ruined ones",
    ),
)
