"""The checkpoint with the highest loss is taken as the best."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="worst_loss_is_best",
    level=1,
    template="choose_checkpoint",
    ticket="Not a single weight comes out right since the upload on Friday. We went through the "
    "table of the run together, and the number beside our choice is the largest of all, "
    "so everybody signed. The lady who used to do this by hand would have taken another "
    "one, she says, and does not say why.",
    faults=(
        Fault(
            title="highest loss taken as the best",
            kind="metric",
            plant=(Edit("config.yaml", "metric_for_best: exact_match", "metric_for_best: loss"),),
            cause="Checkpoints are compared by their loss with greater_is_better still true, so "
            "the one with the highest loss is exported.",
            fix="Set greater_is_better to false, or compare by exact_match.",
            threads=("transformers#31142",),
            also_kinds=("stale_weights",),
            also_places=("config.yaml greater_is_better", "choose.py best_step"),
        ),
    ),
    non_fixes={
        "saved more often": (Edit("config.yaml", "save_every: 10", "save_every: 5"),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 10"),),
    },
)
