"""Exercise 01.7: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "01.7",
    "cb",
    hints=(
        "Question 1: what does the backward pass of exp multiply by, and what does clamp send?",
        "Question 2: compare the update with the gap of bfloat16 at the weight.",
    ),
    whys=(
        "the clamp sends back 0, exp's derivative is inf, and 0 times inf is nan",
        "bfloat16 has float32's range; what it gave up is the resolution",
    ),
    nexts=(
        "read section 4 again: what was the gradient beyond the overflow?",
        "read section 2 again: which weights had moved?",
    ),
)
