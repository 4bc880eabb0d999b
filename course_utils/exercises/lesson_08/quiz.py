"""Exercise 08.9: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "08.9",
    "cb",
    minutes=1,
    hints=(
        "Question 1: which of the three would a healthy log have hidden?",
        "Question 2: what is averaged over the ranks, and what is the count?",
    ),
    whys=(
        "a curve may look ordinary, too low or too high, while the gradient is another",
        "the count is that of all ranks, and the mean over the ranks divides once more",
    ),
    nexts=(
        "ask which of the three looks at the gradient itself",
        "two ranks with equal halves: what must each return, for their mean to be right?",
    ),
)
