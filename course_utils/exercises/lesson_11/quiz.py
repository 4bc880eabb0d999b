"""Exercise 11.3: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "11.3",
    "bc",
    minutes=1,
    hints=(
        "Question 1: which of the three would have found each of the four jobs?",
        "Question 2: which of the three names parts of the model, and needs no step?",
    ),
    whys=(
        "only a completion of the model that is served depends on all that lies before it",
        "the log and the number of trained weights look healthy where no expert has an adapter",
    ),
    nexts=(
        "look again at the table of four stages: where does each job fail?",
        "compare rank 32 on seven names with rank 2 on the experts, in the table of the experts",
    ),
)
