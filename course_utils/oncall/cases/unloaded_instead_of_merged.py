"""The adapter is taken off at the export, and what is saved is the base."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="unloaded_instead_of_merged",
    level=1,
    template="sft_lora",
    ticket="In the training log everything is as it should be, and the loss is far down. The "
    "served model knows nothing of it: it talks like the checkpoint we started from. We have "
    "restarted the server twice.",
    faults=(
        Fault(
            title="adapter unloaded instead of merged",
            kind="adapter",
            plant=(Edit("train.py", "model.merge_and_unload()", "model.unload()"),),
            cause="unload() removes the adapter without adding it to the weights.",
            fix="Use merge_and_unload().",
            threads=("peft#1043", "peft#2321"),
            also_kinds=("stale_weights",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 128 "),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-3", "learning_rate: 1.0e-2"),),
    },
)
