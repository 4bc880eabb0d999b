"""Exercise 04.9: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "04.9",
    "cb",
    hints=(
        "Question 1: which number was nan while the loss of the same update was finite?",
        "Question 2: follow the 0 that the mask or the clamp sends back into exp.",
    ),
    whys=(
        "one update later the weights are gone, one rollout later the replies",
        "backward multiplies by exp's own result, whatever follows it in the forward pass",
    ),
    nexts=(
        "look at the table of the last updates in section 5 again",
        "read the values and gradients in the picture of section 6 again",
    ),
)
