"""Exercise 07.9: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "07.9",
    "bc",
    minutes=1,
    hints=(
        "Question 1: the two logs of section 4 did not show the fault. What did?",
        "Question 2: why did the run that never stops have the lower loss?",
    ),
    whys=(
        "five causes have the same symptom; only the tokens tell them apart",
        "tokens with a high loss no longer counted in the mean, so it fell",
    ),
    nexts=(
        "ask which of the three shows what is learnt",
        "look again at section 5: which tokens no longer count, and how high was their loss?",
    ),
)
