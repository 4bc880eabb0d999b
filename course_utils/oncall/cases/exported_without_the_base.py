"""The adapter alone is exported."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="exported_without_the_base",
    level=1,
    template="sft_lora",
    ticket="Upload went through in two seconds, which should have made me suspicious. Now the "
    "pod restarts again and again, and its owner says there is nothing to load. Locally "
    "I can chat with the thing without any difficulty, so permissions?",
    faults=(
        Fault(
            title="adapter exported without the base",
            kind="adapter",
            plant=(Edit("config.yaml", "merge: true", "merge: false"),),
            cause="Only the adapter is exported, but the server looks for whole weights.",
            fix="Merge the adapter before the export.",
            threads=("peft#1043", "vllm#34186"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-3", "learning_rate: 1.0e-2"),),
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 6"),),
    },
)
