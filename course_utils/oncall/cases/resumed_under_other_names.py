"""The checkpoint's names have a prefix, and loading it is not strict."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="resumed_under_other_names",
    level=2,
    template="own_loop",
    ticket="The model of this run is weaker than the one of the run without a queue, on everything "
    "we ask it. Each of its slots, looked at alone, trains well: the loss falls as it "
    "should. I think that the rows of the later slots are harder.",
    faults=(
        Fault(
            title="checkpoint keys that do not match",
            kind="resume",
            plant=(
                Edit(
                    "train.py",
                    '"model": model.state_dict(),',
                    '"model": {f"module.{name}": w for name, w in model.state_dict().items()},',
                ),
                Edit(
                    "train.py",
                    'model.load_state_dict(state["model"])',
                    'model.load_state_dict(state["model"], strict=False)',
                ),
            ),
            enough=(1,),  # the names are those that are looked for
            cause="The checkpoint's names begin with module., and strict=False loads none of "
            "them: each leg begins with the base's weights.",
            fix="The same names on both sides, and a strict load.",
            threads=("transformers#33336",),
        ),
    ),
    non_fixes={
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
        "no shuffling": (Edit("config.yaml", "shuffle: true", "shuffle: false"),),
    },
)
