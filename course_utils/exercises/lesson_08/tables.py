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
        "1": "what is over-weighted is short; here short is what the model finds hard",
        "2": "the error has no sign of its own",
        "3": "with equal counts every micro-batch gets its due",
        "4": "lengths alone make no error: something has to go with them",
        "5": "padding takes part in the matrix product, and not in the loss",
        "6": "what counts is the micro-batch, not the row",
    },
    nexts={
        "1": "which rows are over-weighted, and is their loss above or below the others'?",
        "2": "which rows are over-weighted, and is their loss above or below the others'?",
        "3": "compute both means",
        "4": "compute both means",
        "5": "count the targets, not the width",
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
    {"1": "b", "2": "f", "3": "c", "4": "e", "5": "d", "6": "a"},
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
        "1": "its norm and its log are a little off, as from many causes: the direction tells",
        "2": "a gradient that is changed between two backward passes is no sum any more",
        "3": "its direction is perfect, so a cosine alone lets it pass",
        "4": "it is the same for every split, so only another measure can find it",
        "5": "two faults in one number: each has its own cure",
        "6": "a loop that is right is what you compare with",
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
        "A clean table proves no more than that. Is the one gradient right? token_mean is.",
        "Of the four others one has only a factor, one only weights, one both; in the last, what "
        "is between two backward passes?",
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
        "1": "a right reply is paid more for each token if it is short",
        "2": "a wrong reply is punished less for each token if it is long",
        "3": "the mean goes where the majority goes, and four of five are wrong",
        "4": "the mean goes where the majority goes, and nine of ten are right",
        "5": "with one weight for every token the tail has no expected gradient",
        "6": "nothing tells the reply whether it should be long",
    },
    nexts={
        "1": "write down A / len for A > 0: which length makes it large?",
        "2": "write down A / len for A < 0: which length makes it large?",
        "3": "which kind of reply is in the majority?",
        "4": "which kind of reply is in the majority?",
        "5": "does a token's weight still depend on the length of its reply?",
        "6": "the advantage is as often positive as negative, whatever the length",
    },
    hints=(
        "What does a reply get for each length, A / len or A alone?",
        "With 1/len, right replies (A > 0) gain by being short, wrong ones (A < 0) by being long.",
        "For the mean of all replies count who is in the majority; and the last two rows ask "
        "whether anything at all depends on the length.",
    ),
)
