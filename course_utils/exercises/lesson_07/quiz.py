"""Exercise 07.9: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "07.9",
    "bc",
    minutes=1,
    hints=(
        "Question 1: the two logs of section 4 told nothing. What did?",
        "Question 2: where else did a lower number hide that something was not learnt?",
    ),
    whys=(
        "five causes have one log and one symptom; only the tokens tell them apart",
        "the hardest token left the average, so the average fell",
    ),
    nexts=(
        "ask which of the three looks at what is learnt",
        "look again at the loss of the healthy run without its end",
    ),
)
