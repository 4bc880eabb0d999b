"""Exercise 08.9: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "08.9",
    "cb",
    minutes=1,
    hints=(
        "Question 1: which of the three shows the fault even if the log looks healthy?",
        "Question 2: what is averaged over the ranks, and what does the count cover?",
    ),
    whys=(
        "a loss curve can look ordinary, too low or too high while the gradient is wrong",
        "the count covers all ranks already, and the mean over the ranks divides once more",
    ),
    nexts=(
        "ask which of the three looks at the gradient itself",
        "take two ranks with equal halves: what must each return, so that their mean is right?",
    ),
)
