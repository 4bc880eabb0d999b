"""Exercise 06.11: the closing quiz."""

from course_utils.checks.quiz import two_letters

QUIZ = two_letters(
    "06.11",
    "ca",
    hints=(
        "Question 1: what did the log of the silent run look like, line by line?",
        "Question 2: what did every answer train that called requires_grad_() on the loss?",
    ),
    whys=(
        "loss, grad_norm and requires_grad all look healthy in the silent run",
        "after requires_grad_() the graph holds the loss alone, and no weight",
    ),
    nexts=(
        "read the last table of section 10 again: which column told the runs apart?",
        "call loss.requires_grad_() in section 4 and look at block.weight.grad",
    ),
)
