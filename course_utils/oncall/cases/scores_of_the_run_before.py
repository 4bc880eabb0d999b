"""The table already has scores under this run's name: those of the run before."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def renamed(rows, rng):
    """The table of a run that was started under the same name."""
    return [row | {"run": "june"} if row["run"] == "may" else row for row in rows]


CASE = Case(
    id="scores_of_the_run_before",
    level=2,
    template="choose_checkpoint",
    ticket="Ask it anything and you get a dash. On paper it was the clear winner, climbing from "
    "step to step as in a textbook. And the whole job was done in half the usual time, "
    "for which I praised the new computer.",
    faults=(
        Fault(
            title="scores of another run read from the table",
            kind="stale_weights",
            plant=(EditRows("data/scores.jsonl", renamed),),
            cause="The table holds another run's scores under this run's name, so no checkpoint "
            "is measured, and the step that was best there is exported.",
            fix="Remove those rows, or give this run a name of its own.",
            threads=("lm-evaluation-harness#4063", "lm-evaluation-harness#2715"),
            also_kinds=("metric", "resume"),
            also_places=("choose.py table_of", "config.yaml run_name"),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("task.yaml", "max_length: 48", "max_length: 96"),),
        "compared by their loss": (
            Edit("config.yaml", "metric_for_best: exact_match", "metric_for_best: loss"),
            Edit("config.yaml", "greater_is_better: true", "greater_is_better: false"),
        ),
    },
)
