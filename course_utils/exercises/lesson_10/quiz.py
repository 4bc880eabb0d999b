"""Exercise 10.9: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "10.9",
    "cb",
    minutes=1,
    hints=(
        "Question 1: which of the three saw the fall of section 4?",
        "Question 2: which number is 0 by construction, and which is not?",
    ),
    whys=(
        "the policy optimizes the reward and its parts; only another judge is independent of them",
        "on policy the value of the loss is a mean of advantages, which is 0; its gradient is not",
    ),
    nexts=(
        "ask of each whether the policy is paid for it",
        "look again at the table of the two losses",
    ),
)
