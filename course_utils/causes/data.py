"""What whole data sets show: rows that are alike, that stand in both splits, that teach nothing."""

from course_utils.causes.cause import Cause, keys
from course_utils.causes.harms import EVALUATION, LESS, MEASURED, STILL, WRONG
from course_utils.causes.shared import NOTHING_MOVES, OF_LABELS, OUTCOME

DATA = (
    Cause(
        "rows_alike",
        "all rows have the same input, so that nothing in them can tell their labels apart",
        "look at the column that is read, and at the function that makes a row of it (a variable "
        "of a loop that is used too late, a path in place of what is in the file)",
        "ten rows, as the model gets them",
        kinds=("labels",),
        harm=STILL,
        explains=NOTHING_MOVES,
        follows=OUTCOME,
        speaks_of=OF_LABELS,
    ),
    Cause(
        "labels_contradict",
        "the same input stands in the data with different labels",
        "look at the rows of one such input; keep one label of it, or the share of each",
        "the rows of one input with all of their labels",
        kinds=("labels",),
        harm=LESS,
        follows=OUTCOME,
        speaks_of=OF_LABELS,
    ),
    Cause(
        "labels_uninformative",
        "the labels do not belong to these inputs: neither this run nor a count of words tells "
        "more than how frequent each label is",
        "read ten rows with their labels; look for a sort, a shuffle or a filter that was applied "
        "to one of the two alone",
        "ten rows with their labels",
        kinds=("labels",),
        harm=STILL,
        explains=NOTHING_MOVES | keys("one_class"),
        follows=OUTCOME,
        speaks_of=OF_LABELS,
    ),
    Cause(
        "mirrored_against_labels",
        "the training mirrors pictures and keeps their labels, which name a side: half of the rows "
        "show the other side than their label says",
        "leave the horizontal flip out, or exchange the labels of both sides with it",
        "ten augmented pictures with their labels",
        kinds=("labels",),
        harm=WRONG,
        explains=NOTHING_MOVES | keys("at_chance labels_uninformative"),
    ),
    Cause(
        "rows_in_both",
        "rows that are evaluated are among those that are trained on",
        "remove duplicates first, then split; split by what the rows have in common (a document, "
        "a user), not by row",
        "how many rows of the evaluation stand in the training data",
        kinds=("metric",),
        where=EVALUATION,
        harm=MEASURED,
    ),
    Cause(
        "evaluation_rows_differ",
        "the rows that are evaluated are made in another way than those that are trained on",
        "make both splits with one function: prefix, template, case, labels and their numbers",
        "the first row of each split, side by side",
        kinds=("metric", "template"),
        where=EVALUATION,
        harm=MEASURED,
        explains=keys("overfits evaluation_stands_still"),
    ),
    Cause(
        "tool_results_learnt",
        "the tool results within a reply are in the loss: the model learns to write them itself, "
        "in place of calling the tool",
        "leave them out of the loss: its mask is completion_mask * tool_mask",
        "the share of learnt tokens that a tool wrote",
        thread="trl#4975",
        kinds=("labels",),
        harm=WRONG,
        explains=keys("collapse engines_disagree logp_disagree entropy_runs kl_runs"),
        follows=OUTCOME,
    ),
    Cause(
        "last_step_alone",
        "only the last step of a solution has a label in training, and every step has one in the "
        "evaluation: the run learns whether the whole is right, and nothing of the steps before",
        "train_on_last_step_only=False, so that each step is learnt, and train again",
        "the evaluation by the place of a step: the last one, and those before it",
        kinds=("labels", "metric"),
        harm=WRONG,
        explains=keys("evaluation_rows_differ evaluation_stands_still memorised overfits"),
        follows=OUTCOME,
    ),
    Cause(
        "rows_in_order",
        "the rows are read in the order in which they stand, one label after the other",
        "shuffle the rows before training, or let the loader do it (shuffle=True)",
        "the labels of the first hundred rows, in the order in which they are read",
        kinds=("labels",),
        harm=LESS,
        explains=keys("rate_too_high"),
        follows=OUTCOME,
    ),
    Cause(
        "tokens_unknown",
        "the tokenizer does not know these texts: most of their tokens are the one for unknown",
        "the tokenizer of the model, and texts in its language and alphabet",
        "one row: its text, its ids, and the ids decoded",
        kinds=("labels",),
        harm=WRONG,
        explains=keys("rows_alike labels_contradict"),
    ),
    Cause(
        "other_tokenizer",
        "the rows were tokenized by another tokenizer than the one of this run: their ids decode "
        "to other words than their text",
        "tokenize the rows anew, with the tokenizer that belongs to the model",
        "one row: its text beside its ids, decoded",
        kinds=("labels",),
        harm=WRONG,
        raises_first_loss=True,
    ),
    Cause(
        "inputs_unscaled",
        "the numbers of the input are not scaled as the model's processor does it: they go from 0 "
        "to 255, as bytes do, or hardly differ",
        "let the processor of the model make the input, with its scale, mean and deviation",
        "the smallest and largest number, mean and deviation of one batch",
        kinds=("images",),
        harm=LESS,
    ),
    Cause(
        "prompt_twice",
        "the prompt stands twice: the reply begins with it once more",
        "give the reply alone, or the finished text without a prompt before it",
        "one row, decoded",
        kinds=("template",),
        harm=WRONG,
    ),
    Cause(
        "replies_empty",
        "the replies to learn from are empty",
        "look at the column that the replies come from, and at the role that the template writes",
        "one row, before and after the template",
        kinds=("labels",),
        harm=WRONG,
        explains=keys("end_missing"),
        speaks_of=OF_LABELS,
    ),
    Cause(
        "pairs_contradict",
        "the same two replies stand in the data in both orders, so that each is better than the "
        "other",
        "keep one order of each pair",
        "the rows of one prompt",
        kinds=("preference",),
        harm=LESS,
        explains=NOTHING_MOVES,
    ),
)
