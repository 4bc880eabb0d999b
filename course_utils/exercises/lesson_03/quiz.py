"""Exercise 03.7: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "03.7",
    "bc",
    hints=(
        "Question 1: which of the three comes first in the chain that you followed?",
        "Question 2: think of the spacing of bfloat16 at 0.02, and of a step of 1e-5.",
    ),
    whys=(
        "the log line comes last in the chain, the weights first",
        "range prevents inf, precision prevents standing still; bfloat16 has only range",
    ),
    nexts=(
        "read section 5 again: what was dead before anything was logged?",
        "look at the bfloat16 column of the grid in section 10 again",
    ),
)
