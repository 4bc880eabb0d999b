"""What goes wrong in any training: labels, rates, evaluation."""

from course_utils.explain.causes.cause import Cause

TRAINING = (
    Cause(
        "labels_masked",
        "no token counts: all labels are -100, so the loss is 0 or nan and nothing is learned",
        "count the labels that are not -100; check truncation, template and response template",
        "look at one batch token by token",
        "07_never_stops",
        "inspect_batch",
        "trl#6668",
    ),
    Cause(
        "above_uniform",
        "the loss is above that of guessing, ln(vocabulary), about 12, in the first "
        "entries: weights, labels or template do not fit together",
        "check that the weights were loaded, the vocabulary, and the shift of labels",
        "one batch token by token",
        lesson="07_never_stops",
        instrument="inspect_batch",
    ),
    Cause(
        "rate_too_high",
        "the loss climbs away from its best and stays there; steps that are too long do that",
        "a tenth of the learning rate, with warm-up",
        "whether the climb begins where the learning rate peaks",
        "01_floats",
    ),
    Cause(
        "rate_unusual",
        "the learning rate is far above what fine-tuning with AdamW bears (1e-6 to 1e-3); "
        "only SGD or a small model from scratch uses such rates",
        "a rate between 1e-6 and 2e-4, unless the optimizer sets its own",
        "whether the number was meant so: 5e-2 for 5e-5",
    ),
    Cause(
        "diverged",
        "the loss grows without bound: the run has diverged",
        "a far smaller learning rate, with warm-up and clipping",
        "the first entry in which the loss is above its start",
        lesson="01_floats",
        instrument="watch",
    ),
    Cause(
        "nothing_moves",
        "the loss stays where it is though the gradient is not 0: the steps vanish in rounding, or "
        "the learning rate is far too small",
        "look at the learning rate; keep float32 master weights when training in bfloat16",
        "the share of weights that change in a step",
        "01_floats",
        "profile_ranges",
        "torchtune#2254",
    ),
    Cause(
        "rate_zero",
        "the learning rate is 0 in every entry: nothing is trained",
        "a learning rate; check warm-up and the number of steps that the schedule was given",
        "what the scheduler returns for these steps",
    ),
    Cause(
        "overfits",
        "the training loss falls while the evaluation loss rises: the model learns the rows "
        "by heart",
        "stop at the lowest evaluation loss; more data, fewer epochs, a smaller rate",
        "where the evaluation loss was lowest",
    ),
    Cause(
        "falls_by_epochs",
        "the loss falls by a step where an epoch begins: rows that were seen before are "
        "recognised, which is usual and says nothing about new rows",
        "none needed; judge by held-out rows, and stop when their loss turns",
        "the evaluation loss of each epoch",
        thread="FastChat#356",
        healthy=True,
    ),
    Cause(
        "memorised",
        "the loss is so near 0 that the rows are known by heart",
        "fewer epochs or more rows; look for copies in the data",
        "the loss on rows that were not trained on",
    ),
    Cause(
        "loss_off_by_a_factor",
        "the training loss is a whole multiple of the evaluation loss: micro-batches are summed "
        "where they should be averaged",
        "update, or divide by num_items_in_batch in compute_loss",
        "the loss with gradient_accumulation_steps=1",
        "08_batch_loss",
        "compare_splits",
        thread="transformers#37766",
    ),
    Cause(
        "improves",
        "this number moves the way it should",
        "none needed",
        "held-out data",
        healthy=True,
    ),
)
