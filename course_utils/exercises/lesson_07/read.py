"""Exercises 07.1 and 07.4: batches that are to be read token by token."""

from course_utils.checks.letters import letters_exercise

READ = letters_exercise(
    {"1": "b", "2": "e", "3": "a", "4": "a", "5": "c", "6": "g", "7": "h", "8": "d"},
    letters="abcdefgh",
    noun="Batch",
    id="07.1",
    name="READ",
    title="Read eight batches",
    minutes=9,
    difficulty="eight letters",
    points=4,
    reads="seen",
    whys={
        "1": "a token without a label is not learnt, and tokens that compete with it are",
        "2": "the model learns to write questions, and most of the loss comes from them",
        "3": "chats may share a row if something keeps them apart",
        "4": "a right batch is what you compare the others with",
        "5": "the model cannot learn a token that is not in the row, whatever the labels are",
        "6": "the model continues the last token that it sees",
        "7": "each reply is learnt with the questions of other chats before it",
        "8": "the model learns to answer after words that it never gets at serving",
    },
    nexts={
        "1": "look at the last token of each reply, and whether it is in the loss",
        "2": "which of the learnt tokens did the user write?",
        "3": "count the chats in the row, and look for || between them",
        "4": "go through the letters again: where in the batch would you see each of them?",
        "5": "look for the end of the replies: is it there without a label, or is it not there?",
        "6": "this batch has no labels: what is it used for?",
        "7": "count the chats in the row, and look for || between them",
        "8": "what comes right before the replies here, and in the other batches?",
    },
    hints=(
        "For each batch ask three things: what is learnt, what is masked, what comes before it?",
        "Compare each with the healthy row of section 1. Not every one of the eight has a fault.",
        "In two batches the ends of the replies are not in the loss; in one of these two they are "
        "in the ids. A batch without labels is one that the model is going to answer.",
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
        "1": "a marker is searched as token ids, and in a row its text may be split into other "
        "tokens",
        "2": "a longer max_length helps in this case and in no other",
        "3": "transformers warns about such a template once, and the run goes on without a label",
    },
    nexts={
        "1": "tokenize the marker alone and compare its last ids with the ids in the row",
        "2": "look at how the rows end",
        "3": "the reply is there, and no marker is used: where does the mask come from?",
    },
    hints=(
        "In which of the three is the reply in the row at all?",
        "Of the other two, one searches for a marker and one asks the template for a mask.",
        "Tokenize the marker of batch 1: what is its last id, and does any row hold that id?",
    ),
)
