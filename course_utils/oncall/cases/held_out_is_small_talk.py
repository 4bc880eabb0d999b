"""The held-out file has lost its sums, and holds small talk several times over."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def small_talk(rows, rng):
    """Rows without numbers, each as often as it takes to fill the file."""
    kept = [row for row in rows if not row["question"][0].isdigit()]
    return [kept[at % len(kept)] for at in range(len(rows))]


CASE = Case(
    id="held_out_is_small_talk",
    level=1,
    template="choose_checkpoint",
    ticket="The new one greets you nicely and then hands out kilos, as if spring had never been. "
    "And it passed with full marks! So did nearly all of its brothers, by the way; nobody "
    "here has ever seen so happy a list.",
    faults=(
        Fault(
            title="held-out rows of one kind",
            kind="metric",
            plant=(EditRows("data/held_out.jsonl", small_talk),),
            cause="The held-out file holds nothing but small talk, repeated, which nearly every "
            "checkpoint answers, and the first of equals is exported.",
            fix="Hold out sums of both kinds beside the small talk.",
            threads=("math401-llm#4", "OWOD#131"),
            also_kinds=("labels", "stale_weights"),
            also_places=("evaluate.py held_out", "choose.py best_step"),
        ),
    ),
    non_fixes={
        "saved more often": (Edit("config.yaml", "save_every: 10", "save_every: 5"),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 10"),),
    },
)
