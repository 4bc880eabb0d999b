"""Exercises 07.1 and 07.4: batches that are to be read token by token."""

from course_utils.checks.letters import letters_exercise

READ = letters_exercise(
    {"1": "b", "2": "e", "3": "f", "4": "a", "5": "c", "6": "g", "7": "h", "8": "d"},
    letters="abcdefgh",
    noun="Batch",
    id="07.1",
    name="READ",
    title="Read eight batches",
    minutes=6,
    difficulty="eight letters",
    points=4,
    reads="seen",
    whys={
        "1": "what has no label is not taught, and what competes with it is",
        "2": "the model learns to write questions, and the loss is mostly theirs",
        "3": "the model never meets two of them when it is served",
        "4": "a batch that is right is what you compare with",
        "5": "what is not in the row cannot be learnt, whatever the labels say",
        "6": "the model continues what it sees last",
        "7": "each reply is learnt with other people's questions before it",
        "8": "the model learns to answer after words that it is never given at serving",
    },
    nexts={
        "1": "look at the last token of each reply, and whether it is in the loss",
        "2": "ask which tokens the user wrote",
        "3": "look at the first two tokens of a row",
        "4": "go through the letters again and ask of each where it would show",
        "5": "look for the end of the replies: is it without a label, or not there?",
        "6": "this batch has no labels: what will be done with it?",
        "7": "count the chats in the row, and look for || between them",
        "8": "what stands right before the replies, and what in the other batches?",
    },
    hints=(
        "For each batch ask three things: what is learnt, what is hidden, what stands before it?",
        "Compare each with the healthy batch above; one of the eight is healthy, too.",
        "Batch 1 and batch 5 both lack an end in the loss: in one of them it is there to be read. "
        "Batch 6 has no labels because it is going to be answered.",
    ),
)

EMPTY = letters_exercise(
    {"1": "c", "2": "a", "3": "b"},
    letters="abcd",
    noun="Batch",
    id="07.4",
    name="EMPTY",
    title="Why is every label -100?",
    minutes=3,
    difficulty="three letters",
    points=2,
    reads="why_empty",
    whys={
        "1": "a marker is looked for as token ids, and its text may be cut into others",
        "2": "a longer max_length helps here and in no other case",
        "3": "the collator that marks nothing says nothing",
    },
    nexts={
        "1": "tokenize the marker alone and compare its last ids with those in the row",
        "2": "look at how the rows end",
        "3": "the reply is there, and no marker is used: where does its mask come from?",
    },
    hints=(
        "In which of the three does the reply stand in the row at all?",
        "Of the two others one looks for a marker and one asks the template for a mask.",
        "Tokenize the marker of batch 1: what is its last id, and does any row hold that id?",
    ),
)
