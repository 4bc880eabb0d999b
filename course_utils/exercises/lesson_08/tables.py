"""Exercises 08.3, 08.4 and 08.7: signs, loops and drifts, answered by letters."""

from course_utils.checks.letters import letters_exercise

SIGN = letters_exercise(
    {"1": "a", "2": "b", "3": "c", "4": "c", "5": "a", "6": "c"},
    letters="abc",
    noun="Batch",
    id="08.3",
    name="SIGN",
    title="Higher, lower or the same?",
    minutes=4,
    difficulty="six letters",
    points=3,
    reads="signs",
    whys={
        "1": "short rows are over-weighted, and here they are the ones the model finds hard",
        "2": "the sign of the error depends on which rows have the high loss",
        "3": "with equal counts, every micro-batch has the weight it has in the token mean",
        "4": "different lengths alone make no error: the loss has to change with the length",
        "5": "padding is in the matrix products, but not in the loss",
        "6": "a mean of means weighs micro-batches, not rows",
    },
    nexts={
        "1": "which rows are over-weighted, and is their loss above or below the others'?",
        "2": "which rows are over-weighted, and is their loss above or below the others'?",
        "3": "compute both means",
        "4": "compute both means",
        "5": "count the targets, not the padded width",
        "6": "add up the targets of the rows that share a micro-batch",
    },
    hints=(
        "For each batch: which micro-batches are over-weighted, and is their loss high or low?",
        "The error is minus the covariance of count (over its mean) and mean loss, taken over the "
        "micro-batches. When is a covariance 0?",
        "In two of the batches one of the two numbers does not vary at all; in batch 6 add up the "
        "pairs first.",
    ),
)

LOOPS = letters_exercise(
    {"1": "c", "2": "f", "3": "c", "4": "e", "5": "d", "6": "a"},
    letters="abcdef",
    noun="Loop",
    id="08.4",
    name="LOOPS",
    title="Which of six loops is right?",
    minutes=8,
    difficulty="six letters",
    points=4,
    reads="loops_are",
    whys={
        "1": "a factor that depends on the split changes every step and every logged loss",
        "2": "if the gradient is changed between two backward passes, it is no longer a sum",
        "3": "its direction is right, so a check of the cosine alone does not find it",
        "4": "it is wrong in the same way for every split, so only another measurement finds it",
        "5": "these are two faults, and each needs its own fix",
        "6": "a right loop is what you compare the others with",
    },
    nexts={
        "1": "read the columns weights and factor of its table",
        "2": "neither a factor nor other weights explain its table",
        "3": "read its cosine, and then its norm",
        "4": "its table is clean: compare its gradient with that of token_mean on all rows",
        "5": "read both columns, weights and factor",
        "6": "its table is clean: compare its gradient with that of token_mean on all rows",
    },
    hints=(
        "Which of the tables are clean? Those loops do not depend on the split.",
        "A clean table proves no more than that. Is the gradient itself right? Compare it with "
        "that of token_mean.",
        "For the others, the columns weights and factor of the table say which of the two is "
        "wrong. Where both show '?', what happens between two backward passes?",
    ),
)

DRIFT = letters_exercise(
    {"1": "a", "2": "b", "3": "b", "4": "a", "5": "c", "6": "c"},
    letters="abc",
    noun="Row",
    id="08.7",
    name="DRIFT",
    title="Which replies get longer?",
    minutes=5,
    difficulty="six letters",
    points=3,
    reads="drifts",
    whys={
        "1": "a right reply gains more per token if it is short",
        "2": "a wrong reply is punished less per token if it is long",
        "3": "the mean follows the majority, and four of five replies are wrong",
        "4": "the mean follows the majority, and nine of ten replies are right",
        "5": "a constant divisor gives every token the same weight, however long its reply is, so "
        "nothing favours short or long replies",
        "6": "a random reward favours neither long nor short replies",
    },
    nexts={
        "1": "write down A / len for A > 0: which length makes it large?",
        "2": "write down A / len for A < 0: which length makes it large?",
        "3": "which kind of reply is in the majority?",
        "4": "which kind of reply is in the majority?",
        "5": "does a token's weight still depend on the length of its reply?",
        "6": "is the advantage more often positive for long replies than for short ones?",
    },
    hints=(
        "By what is the loss of one token multiplied: A / len, or A times a constant?",
        "With 1/len, right replies (A > 0) gain by being short, wrong ones (A < 0) by being long.",
        "For the mean of all replies, ask which kind is in the majority. In the last two rows, ask "
        "whether anything at all depends on the length.",
    ),
)
