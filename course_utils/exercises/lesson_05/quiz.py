"""Exercise 05.7: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "05.7",
    "ac",
    hints=(
        "Question 1: rewards are computed in the forward pass, before any gradient exists.",
        "Question 2: section 4 compares the logits of two models. How do their streams differ?",
    ),
    whys=(
        "rewards that are nan at step 1 were made by the forward pass of the given weights",
        "a remedy must act in the forward pass, and what that computes must stay",
    ),
    nexts=(
        "read section 6 again: what was nan without any training?",
        "read section 4 again: what did another size of the stream change in the logits?",
    ),
)
