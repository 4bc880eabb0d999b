"""Causes that the loss itself shows: how it is summed, how it falls, rows known by heart."""

from course_utils.causes.cause import Cause, Phrase, keys
from course_utils.causes.harms import BROKEN, ENDED, EVALUATION, LESS, MEASURED, WRONG
from course_utils.causes.shared import LENGTHS

LOSSES = (
    Cause(
        "split_changes_loss",
        "the gradient depends on how the batch is split into micro-batches",
        "divide by the number of tokens of the whole batch (num_items_in_batch)",
        "the gradient of one batch, whole and split",
        lesson="08_batch_loss",
        met="micro-batch",
        instrument="audit_step",
        thread="transformers#34191",
        kinds=("normalisation",),
        harm=WRONG,
        explains=keys("loss_off_by_a_factor"),
        follows=frozenset({"loss"}),
        speaks_of=frozenset({"gradients", "one backward pass", "split and whole"}),
        complaints=(("changes with accumulation", 1),),
    ),
    Cause(
        "term_without_part",
        "a second model takes part in the loss, and has next to no part in its gradient: the run "
        "learns as it would without that model",
        "give the term the size of the others: of a KL the sum over the classes and the mean over "
        "the tokens (F.kl_div with reduction='batchmean', not 'mean'); and look at its weight",
        "the gradient of the whole loss beside that of the model's own loss",
        kinds=("normalisation",),
        harm=LESS,
    ),
    Cause(
        "teacher_one_place_on",
        "the student is compared with the teacher at another place of the text, and learns what "
        "comes one token later",
        "cut the logits of both in one way ([:, :-1]), and the labels alone in the other ([:, 1:])",
        "the divergence of one row from the teacher before the first step, which is small for a "
        "good teacher",
        kinds=("labels",),
        harm=WRONG,
    ),
    Cause(
        "kl_of_a_part",
        "what is called a KL is summed over a part of the vocabulary that is no distribution: it "
        "has no floor at 0, and falls furthest where the student moves its probability out of that "
        "part, so that it becomes random",
        "a divergence of whole distributions: add one bucket for all other tokens, (1 - Q) log((1 "
        "- Q) / (1 - P)), or divide both by their sums over the top-k; or the KL over the whole "
        "vocabulary, or that of the sampled token as an advantage",
        "the divergence of one token over the whole vocabulary, beside what the loss gives for it",
        thread="verl#5041",
        kinds=("kl_place", "collapse"),
        harm=WRONG,
        explains=keys("collapse engines_disagree entropy_runs length_is_paid replies_cut"),
        follows=LENGTHS | {"entropy", "loss"},
    ),
    Cause(
        "loss_off_by_a_factor",
        "the training loss is a whole multiple of the evaluation loss: micro-batches "
        "are summed where they should be averaged",
        "in a compute_loss of your own, sum over the tokens (reduction='sum') and divide by "
        "num_items_in_batch; older transformers and trl add them up: update",
        "the loss with gradient_accumulation_steps=1",
        lesson="08_batch_loss",
        met="factor",
        instrument="compare_splits",
        thread="transformers#37766",
        kinds=("normalisation",),
        harm=WRONG,
        raises_first_loss=True,
        complaints=(("changes with accumulation", 2),),
    ),
    Cause(
        "ignored_is_decoded",
        "a negative id is decoded, mostly -100, which pads predictions and labels in an evaluation "
        "and is no token",
        "np.where(ids != -100, ids, tokenizer.pad_token_id), before the tokenizer decodes "
        "predictions and labels",
        "the smallest id in predictions and in labels",
        kinds=("labels",),
        where=EVALUATION,
        harm=ENDED,
        phrases=(
            Phrase(r"OverflowError: (out of range integral type|can't convert negative int)"),
            Phrase(r"OverflowError: number too small to fit in target type"),
            Phrase(r"IndexError: piece id is out of range"),
        ),
    ),
    Cause(
        "length_is_paid",
        "the loss weighs a token by one over the length of its reply, so that long "
        "wrong replies cost little",
        "weigh all tokens alike: loss_type='dapo' or 'dr_grpo' in TRL, "
        "loss_agg_mode='token-mean' in verl",
        "length of right and of wrong replies",
        lesson="08_batch_loss",
        met="dapo",
        instrument="audit_policy",
        thread="trl#3256",
        kinds=("length_bias",),
        harm=WRONG,
        damages="length",
        inferred=True,
        follows=LENGTHS,
    ),
    Cause(
        "probabilities_as_logs",
        "a loss function gets probabilities where it takes logits or log-probabilities",
        "give it what it takes: log_softmax for kl_div and nll_loss, raw logits for cross_entropy "
        "and binary_cross_entropy_with_logits",
        "the sum over the classes of what the loss function is given",
        kinds=("preference", "normalisation"),
        harm=WRONG,
    ),
    Cause(
        "softmax_axis",
        "a softmax of the model's logits runs over the positions or the rows, and not over the "
        "vocabulary: what the loss compares are no probabilities of words",
        "dim=-1 in each softmax and log_softmax of the loss",
        "the sum over the vocabulary of what the softmax gives",
        kinds=("preference", "normalisation"),
        harm=WRONG,
    ),
    Cause(
        "metric_not_there",
        "the number that is asked for is not among the evaluation's: of several sets each has its "
        "own (eval_NAME_loss), and without labels under a name of label_names there is no loss",
        "ask for a key that trainer.evaluate() returns; where it returns no loss at all, "
        "label_names=[...] with the names of the rows' labels, which a wrapper such as PEFT's "
        "hides",
        "the keys that trainer.evaluate() returns",
        kinds=("labels",),
        where=EVALUATION,
        harm=ENDED,
        phrases=(
            Phrase(r"metric_for_best_model.{0,40} is set to .{0,60}not found in the evaluation"),
            Phrase(r"KeyError: '?\"?eval_\w+"),
        ),
    ),
    Cause(
        "one_class",
        "every row of the evaluation gets the same answer: its accuracy does not move at all, and "
        "the loss hardly does",
        "a tenth of the learning rate, with warm-up; then look whether the labels fit their rows",
        "how often each class is predicted",
        kinds=("rate", "collapse"),
        harm=BROKEN,
        beside="one output",
        inferred=True,
    ),
    Cause(
        "overfits",
        "the training loss falls while the evaluation loss rises: the model learns the "
        "rows by heart",
        "stop at the lowest evaluation loss; more data, fewer epochs, a smaller rate",
        "where the evaluation loss was lowest",
        harm=LESS,
        explains=keys("falls_by_epochs"),
        rivals=keys("falls_by_epochs"),
        beside="by heart",
    ),
    Cause(
        "evaluation_stands_still",
        "the accuracy of the evaluation is the same every time while the training goes on, as "
        "where a model gives all of its rows one answer",
        "evaluate rows of the training set in the same way: if they are wrong as well, it is how "
        "the evaluation prepares its rows or the mode of the model (batch norm), else it overfits",
        "how often each class is predicted in the evaluation",
        harm=LESS,
        explains=keys("overfits"),
    ),
    Cause(
        "logged_otherwise",
        "both runs take the same steps, since their losses are the same: a number beside them is "
        "counted in another way, or differs by a factor that the optimizer divides out",
        "none needed; compare such numbers only where one version has printed them",
        "the code that prints the number, in both versions",
        healthy=True,
    ),
    Cause(
        "counted_in_a_row",
        "the accuracy of a later draft token counts only rows in which all tokens before it were "
        "right, so it falls with the place; the share of each place given the one before does not",
        "none needed; divide each by the one before to compare it with acceptance rates",
        "the tokens accepted for each forward pass of the target",
        thread="EAGLE#191",
        healthy=True,
    ),
    Cause(
        "strict_about_the_form",
        "strict-match counts answers in one form alone, and both models write another in this "
        "setting: what they answer (flexible-extract) is right as often",
        "none needed; compare models by flexible-extract, under the same flags (chat template, "
        "few shots as turns), and not with a number from other flags",
        "some replies that the strict filter calls invalid",
        thread="lm-evaluation-harness#2034",
        healthy=True,
    ),
    Cause(
        "entropy_is_the_floor",
        "the loss is a cross entropy against a teacher's probabilities: it cannot fall below the "
        "teacher's entropy, and what is left above that is the KL",
        "none needed; log the loss less the teacher's entropy, which is the KL",
        "the teacher's entropy on the same tokens",
        healthy=True,
    ),
    Cause(
        "falls_by_epochs",
        "the loss falls by a step where an epoch begins: rows that were seen before "
        "are recognised, which is usual and says nothing about new rows",
        "none needed; judge by held-out rows, and stop when their loss turns",
        "the evaluation loss of each epoch",
        thread="FastChat#356",
        healthy=True,
        neutral=True,
    ),
    Cause(
        "memorised",
        "the loss is nearer to 0 than new rows allow: the answer stands in the input (labels that "
        "are not shifted, a mask or a column that tells it), every label is the same, or the rows "
        "are known by heart",
        "take out of the input what tells the answer; if nothing does: fewer epochs, more rows, "
        "no copies",
        "one row with its labels; the loss on rows that were not trained on",
        harm=LESS,
    ),
    Cause(
        "improves",
        "this number moves the way it should",
        "none needed",
        "held-out data",
        healthy=True,
    ),
    Cause(
        "metric_by_rank",
        "a metric is the mean of the ranks' own means, though they hold different numbers of rows",
        "add up sums and counts over the ranks, divide once, and choose the checkpoint again",
        "the metric of each rank, with its number of rows",
        thread="trl#6380",
        kinds=("metric",),
        where=EVALUATION,
        harm=MEASURED,
    ),
)
