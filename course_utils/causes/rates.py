"""The learning rate, its schedule, and runs that are resumed."""

from course_utils.causes.cause import Cause, Phrase, keys
from course_utils.causes.harms import BROKEN, ENDED, LESS, STILL
from course_utils.causes.shared import DRIFTS, NOT_FINITE, NOTHING_MOVES, OF_RATES, OUTCOME

RATES = (
    Cause(
        "rate_too_high",
        "the loss climbs away from its best and stays there; steps that are too long do that",
        "a tenth of the learning rate, with warm-up",
        "whether the climb begins where the learning rate peaks",
        kinds=("collapse", "rate"),
        harm=BROKEN,
        explains=DRIFTS,
        inferred=True,
        follows=OUTCOME,
        speaks_of=OF_RATES,
        one_fix="a tenth of the learning rate",
        settings_fix="a tenth of the rate",
        names=("divergence",),
    ),
    Cause(
        "rate_unusual",
        "the learning rate is far above what fine-tuning with AdamW bears (1e-6 to "
        "1e-3); only SGD or a small model from scratch uses such rates",
        "a rate between 1e-6 and 2e-4, unless the optimizer sets its own",
        "whether the number was meant so: 5e-2 for 5e-5",
        kinds=("collapse", "rate"),
        harm=BROKEN,
        explains=DRIFTS,
        follows=OUTCOME | {"entropy"},
        speaks_of=OF_RATES,
        raises_first_loss=True,
        settings_fix="a thousandth of the rate",
    ),
    Cause(
        "rate_is_text",
        "a setting that must be a number, such as the learning rate, is text: YAML reads 1e-4, "
        "without a point, as a word",
        "write 1.0e-4 in YAML, or call float() on what was read",
        "the type of each number of the configuration, as the run reads it",
        kinds=("rate",),
        harm=ENDED,
        phrases=(
            Phrase(r"'<=' not supported between instances of 'float' and 'str'"),
            Phrase(r"\b(lr|learning_rate) must be (a )?float"),
        ),
    ),
    Cause(
        "update_too_large",
        "one step changes the weights by a large part of their size",
        "a smaller learning rate, with warm-up",
        "the update's size against the weight's",
        instrument="audit_step",
        kinds=("collapse", "rate"),
        harm=BROKEN,
        explains=NOT_FINITE
        | DRIFTS
        | keys("margin_by_pushing_down no_signal rate_unusual replies_cut rewards_cut"),
        follows=OUTCOME | {"entropy"},
        speaks_of=OF_RATES,
        one_fix="a tenth of the learning rate",
        settings_fix="a tenth of the rate",
    ),
    Cause(
        "diverged",
        "the loss grows without bound: the run has diverged",
        "a far smaller learning rate, with warm-up and clipping",
        "the first entry in which the loss is above its start",
        instrument="watch",
        kinds=("rate",),
        harm=BROKEN,
        explains=keys("nan_weights"),
        speaks_of=OF_RATES,
        settings_fix="a tenth of the rate",
    ),
    Cause(
        "rate_zero",
        "the learning rate is 0 in every entry: nothing is trained",
        "a learning rate; check warm-up and the number of steps that the schedule was given",
        "what the scheduler returns for these steps",
        kinds=("schedule",),
        harm=STILL,
        explains=NOTHING_MOVES,
        follows=OUTCOME | {"rates used"},
        speaks_of=OF_RATES,
        beside="schedule",
    ),
    Cause(
        "rate_not_asked",
        "the learning rate that is used is not the one that was asked for",
        "look at who steps the schedule, and at the parameter groups",
        "the learning rate of each step",
        instrument="audit_step",
        thread="accelerate#662",
        kinds=("schedule",),
        harm=LESS,
        speaks_of=OF_RATES,
    ),
    Cause(
        "schedule_ends_early",
        "the schedule does not fit the run: the learning rate is at 0 long before the "
        "run is over, or the warm-up is longer than the run",
        "give the schedule, its warm-up included, the number of optimizer steps of the "
        "whole run; step it once an update",
        "the learning rate of each step; warm-up steps against optimizer steps",
        instrument="audit_step",
        thread="accelerate#2926",
        kinds=("schedule",),
        harm=LESS,
        beside="processes",
        explains=NOTHING_MOVES | keys("rate_zero rate_too_low resumed_without_state"),
        follows=frozenset({"rates used", "updates"}),
        speaks_of=OF_RATES,
        settings_fix="shorter warm-up",
    ),
    Cause(
        "resumed_without_state",
        "the run goes on from its weights without the optimizer, the schedule or the data's place",
        "resume_from_checkpoint, with optimizer.pt, scheduler.pt and rng_state beside the weights",
        "the optimizer's step count against the run's",
        instrument="audit_step",
        thread="transformers#33336",
        kinds=("resume",),
        harm=LESS,
        explains=keys("rate_not_asked rate_too_high"),
        speaks_of=OF_RATES,
        complaints=(("jumps on resuming", 1),),
        beside="resume",
    ),
    Cause(
        "begun_anew",
        "the run was to go on and begins anew: it starts where the run before it started, with the "
        "weights of before the training",
        "name the saved state to the trainer (resume_from_checkpoint, and the folder that holds "
        "it), and read in its first lines what it has loaded",
        "the first step and loss beside the last ones of the run before",
        kinds=("resume",),
        harm=LESS,
        explains=keys("resumed_without_state"),
    ),
    Cause(
        "resumed_at_its_end",
        "the run is resumed where it ends: max_steps and epochs count from the first start, so "
        "next to nothing is trained behind the checkpoint",
        "a max_steps (or num_train_epochs) that counts the steps before the checkpoint as well",
        "the step of the checkpoint beside max_steps",
        kinds=("resume",),
        harm=STILL,
        explains=keys("rate_zero schedule_ends_early few_steps"),
    ),
    Cause(
        "summary_of_a_resume",
        "the summary of a resumed run divides the losses since the resume by the steps of the "
        "whole run, and counts all of these over the time since: its train_loss is too low and its "
        "speed too high by one factor, and the run is none the worse for it",
        "none needed: read the logged losses and the evaluation, and compare runs by these",
        "train_loss times all steps, divided by those since the resume, beside the logged losses",
        healthy=True,
    ),
)
