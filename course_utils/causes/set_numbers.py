"""Numbers that somebody set: of the optimizer, of the labels, of the clipping; what is loaded."""

from course_utils.causes.cause import Cause, keys
from course_utils.causes.harms import LESS, WRONG
from course_utils.causes.shared import NOTHING_MOVES, OUTCOME

SET_NUMBERS = (
    Cause(
        "betas_swapped",
        "the optimizer's betas stand the other way round: the mean of the gradients is of hundreds "
        "of steps, and their size of a few",
        "betas=(0.9, 0.999), or (0.9, 0.95): the first is never the larger one",
        "optimizer.param_groups[0]['betas']",
        kinds=("rate",),
        harm=LESS,
        follows=OUTCOME,
    ),
    Cause(
        "eps_too_large",
        "eps is as large as gradients are, or larger: Adam divides by it instead of by their size, "
        "and small gradients move nothing",
        "eps=1e-8 (1e-6 for half precision)",
        "the size of a step beside the learning rate",
        kinds=("rate",),
        harm=LESS,
        explains=NOTHING_MOVES | keys("rate_too_low"),
        follows=OUTCOME,
    ),
    Cause(
        "smoothing_too_strong",
        "labels are smoothed so far that the other classes together have more of them than the "
        "right one",
        "label smoothing of 0.1, or none",
        "what the loss asks of the right class",
        kinds=("labels",),
        harm=LESS,
    ),
    Cause(
        "clipped_to_nothing",
        "clipping cuts each gradient to next to nothing: below eps Adam moves nothing, and SGD not "
        "either",
        "max_norm of 1, or the norms that the log shows",
        "the norm before clipping, beside its limit",
        kinds=("no_grad", "rate"),
        harm=LESS,
        explains=NOTHING_MOVES | keys("rate_too_low"),
        follows=OUTCOME,
    ),
    Cause(
        "optimizer_made_anew",
        "the optimizer is made again before each step, so that its moments are always those of a "
        "single gradient: each weight moves by the learning rate, whatever its gradients say",
        "make the optimizer once, before the loop",
        "the count of steps in optimizer.state",
        kinds=("rate",),
        harm=LESS,
        explains=keys("update_too_large schedule_of_another_optimizer"),
        follows=OUTCOME,
    ),
    Cause(
        "gradient_mostly_zero",
        "most trained weights get a gradient that is exactly 0 in every step: something between "
        "them and the loss multiplies by 0",
        "look for weights that were set to 0 in two layers that follow each other, a gate, a mask "
        "or an activation that is 0 for every row",
        "the gradients by layer: audit_gradients(model, batch)",
        instrument="audit_gradients",
        kinds=("no_grad",),
        harm=LESS,
        explains=NOTHING_MOVES | keys("rate_too_low"),
        follows=OUTCOME,
    ),
    Cause(
        "evaluation_writes_weights",
        "the evaluation leaves other weights in the model than it found, and training goes on from "
        "those",
        "if weights are put aside for it, as for an average of them, put clones aside "
        "(p.detach().clone()) and copy them back behind it",
        "one weight before and behind an evaluation",
        kinds=("stale_weights",),
        harm=WRONG,
    ),
    Cause(
        "weights_taken_back",
        "between the steps something writes other weights into the model, which takes back what "
        "the steps did",
        "keep an average of the weights in a copy of the model, and put it in at the end alone",
        "one weight behind a step and before the next",
        kinds=("stale_weights",),
        harm=LESS,
        follows=OUTCOME,
    ),
    Cause(
        "start_loaded_back",
        "the weights that are loaded at the end are those from before the first step: an average "
        "that was never updated, or a copy that was made too early",
        "update the average after each step; keep the copy when the evaluation is best",
        "the loaded weights beside those of the start",
        kinds=("stale_weights",),
        harm=WRONG,
        explains=keys("overfits memorised"),
    ),
)
