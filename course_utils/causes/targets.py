"""What is wrong with what is aimed at, or measured: targets, tags, metrics, positions."""

from course_utils.causes.cause import Cause, keys
from course_utils.causes.harms import EVALUATION, LESS, MEASURED, STILL, WRONG
from course_utils.causes.shared import NOTHING_MOVES, OF_LABELS, OUTCOME

TARGETS = (
    Cause(
        "classes_as_numbers",
        "a model with one output and a squared error learns classes as if they were amounts",
        "num_labels as many as there are classes, with whole-number labels",
        "problem_type and num_labels beside ten labels",
        kinds=("labels",),
        harm=LESS,
        speaks_of=OF_LABELS,
    ),
    Cause(
        "targets_unscaled",
        "the numbers to predict are thousands of times larger than what a new head gives, and the "
        "steps are too short to get there",
        "subtract the mean of the targets and divide by their deviation; undo it when predicting",
        "mean and deviation of the targets beside those of the outputs",
        kinds=("labels",),
        harm=STILL,
        explains=NOTHING_MOVES | keys("rate_too_high update_too_large nan_shown_as_zero"),
        follows=OUTCOME,
    ),
    Cause(
        "targets_beyond_cosine",
        "the numbers to predict are larger than a cosine can be: all similarities are pulled to 1",
        "divide the scores by the largest one, so that they lie between 0 and 1",
        "the largest score beside the largest similarity",
        kinds=("labels",),
        harm=WRONG,
        explains=NOTHING_MOVES,
        follows=OUTCOME,
    ),
    Cause(
        "labels_not_read",
        "the loss reads no label: each row is learnt as a pair that belongs together, also those "
        "whose label says that they do not",
        "give it the right pairs alone, or a loss that reads labels",
        "which columns the loss reads, and the rows with label 0",
        kinds=("labels",),
        harm=WRONG,
        follows=OUTCOME,
    ),
    Cause(
        "tags_misplaced",
        "the tags do not stand at the tokens of their words",
        "give each word's tag to its first token, by word_ids(), and -100 to all other tokens",
        "the tokens of one row beside their tags",
        kinds=("labels",),
        harm=WRONG,
        speaks_of=OF_LABELS,
    ),
    Cause(
        "metric_not_as_named",
        "the metric is not what its name says: counted from the same predictions it is another "
        "number",
        "compute it on ten predictions by hand: which axis, which labels are left out, logits or "
        "probabilities",
        "what compute_metrics is given, its shapes, and what it returns",
        kinds=("metric",),
        where=EVALUATION,
        harm=MEASURED,
    ),
    Cause(
        "evaluation_cuts_replies",
        "the texts that are generated in the evaluation are cut: its length limit is below that "
        "of the labels",
        "generation_max_length, or max_new_tokens, above the longest label",
        "the lengths of the labels in tokens, beside the limit of generate",
        kinds=("metric",),
        where=EVALUATION,
        harm=MEASURED,
    ),
    Cause(
        "positions_wrong",
        "all tokens of a row have the same position, so that their order is lost",
        "leave position_ids out, or count them from 0 in each document",
        "position_ids of one row",
        kinds=("packing",),
        harm=WRONG,
        speaks_of=frozenset({"positions"}),
    ),
    Cause(
        "dropout_too_strong",
        "dropout takes nearly all of a layer's input away",
        "a dropout near 0.1",
        "the dropout probabilities of the configuration",
        kinds=("rate",),
        harm=STILL,
        explains=NOTHING_MOVES,
    ),
    Cause(
        "beta_unusual",
        "beta is far from what is usual: much larger holds the policy at its reference, much "
        "smaller lets go of it",
        "beta between 0.01 and 0.5 for DPO, at most 0.1 for GRPO",
        "the rewards of the pairs, which are beta times log-ratios",
        kinds=("preference",),
        harm=LESS,
        explains=keys("policy_is_reference thrown_about margin_saturated"),
    ),
    Cause(
        "nothing_right",
        "nothing that the model says is right in any evaluation",
        "print three predictions beside their labels, as the metric gets them",
        "three predictions beside their labels",
        kinds=("metric",),
        inferred=True,
    ),
    Cause(
        "metric_leaves_loss",
        "the loss of the evaluation falls while its metric gets worse",
        "print three predictions beside their labels, as the metric gets them",
        "three predictions beside their labels",
        kinds=("metric", "never_stops"),
        inferred=True,
    ),
    Cause(
        "loss_unbounded",
        "the loss falls below 0 and on without end: nothing bounds it (a wrong sign, targets "
        "outside of 0 to 1, probabilities where log-probabilities belong)",
        "look at the formula of the loss, and at the range of its two arguments",
        "the loss of one row, computed by hand",
        kinds=("labels",),
        harm=WRONG,
        inferred=True,
    ),
    Cause(
        "nothing_left",
        "the run ended before its first step: the checkpoint that it goes on from had reached the "
        "last step already, or no row is left",
        "more epochs or steps than the checkpoint has; no resume_from_checkpoint for a new run",
        "global_step in trainer_state.json, beside the steps of this run",
        kinds=("resume",),
        harm=STILL,
        explains=keys("resumed_at_its_end"),
    ),
    Cause(
        "one_candidate",
        "the softmax of the contrastive loss runs over one candidate, the positive itself: its "
        "share is 1 whatever the model says, so that loss and gradient are exactly 0",
        "give each question negatives (a larger group, or more rows in a batch)",
        "the number of candidates of one question: rows of the batch times texts of a row",
        thread="FlagEmbedding#823",
        kinds=("labels",),
        harm=STILL,
        explains=keys("labels_masked no_gradient nothing_trainable"),
    ),
    Cause(
        "positives_twice",
        "the same positive stands several times in one batch, so that a row is pushed away from "
        "its own answer",
        "a batch without duplicates (BatchSamplers.NO_DUPLICATES), or a mask over equal rows",
        "the texts of one batch, counted",
        kinds=("preference",),
        harm=LESS,
    ),
    Cause(
        "negatives_too_easy",
        "the wrong texts of the training are drawn at random: the model learns to tell subjects "
        "apart, and not the candidates of a search, which are all about the query",
        "wrong texts from the hits of the search itself (hard negatives)",
        "the scores of the candidates of one query",
        kinds=("preference",),
        harm=LESS,
    ),
    Cause(
        "pairs_misaligned",
        "the softmax over the batch asks for another text than the one that belongs to each row",
        "targets = torch.arange(rows), with both halves of a pair at the same place of the batch",
        "the scores of one batch: the largest of each row, beside its target",
        kinds=("preference", "labels"),
        harm=WRONG,
        follows=OUTCOME,
    ),
    Cause(
        "similarity_unscaled",
        "the scores that go into cross-entropy are no larger than cosines: between -1 and 1 no "
        "softmax over the batch can become sure",
        "multiply the cosines by a scale such as 20 (divide them by a temperature such as 0.05)",
        "the smallest and largest score of one batch",
        kinds=("rate",),
        harm=LESS,
    ),
    Cause(
        "stepped_twice",
        "the optimizer is stepped again without a new gradient: each gradient counts twice or more",
        "one optimizer.step() for each backward (or for each group of micro-batches)",
        "who calls optimizer.step(): the loop, a callback, a library",
        kinds=("rate",),
        harm=LESS,
        explains=keys("gradients_not_cleared"),
    ),
    Cause(
        "spans_lost",
        "nearly every answer is the first token: the answers were not found in their texts",
        "offsets and overflowing parts: start and end of the answer in tokens of that very part",
        "start_positions and end_positions of ten rows, decoded",
        kinds=("labels",),
        harm=WRONG,
        speaks_of=OF_LABELS,
    ),
    Cause(
        "blank_differs",
        "the blank of the CTC loss is another id than the tokenizer's padding, with which the "
        "labels are written and read",
        "pad_token_id=processor.tokenizer.pad_token_id (and vocab_size) where the model is loaded",
        "config.pad_token_id beside tokenizer.pad_token_id",
        kinds=("labels",),
        harm=WRONG,
    ),
    Cause(
        "specials_missing",
        "the rows lack the token with which this tokenizer begins every text: the model was "
        "trained with it",
        "add_special_tokens=True, or write the token by hand",
        "the first ids of one row, beside tokenizer('a').input_ids",
        kinds=("template",),
        harm=LESS,
    ),
)
