"""The grades run from 1, the best, to 5, and the rows of 4 and more are kept."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def graded(rows, rng):
    """Grades as at school, where 1 is the best."""
    return [row | {"grade": 6 - row["grade"]} for row in rows]


CASE = Case(
    id="grades_from_best_to_worst",
    level=2,
    template="prep_rows",
    ticket="It is worse at the easy ones than at the hard ones. Whoever brings three numbers is "
    "served as before; with two it misses by one or by ten, as if somebody had taught it to. We "
    "spent a whole quality week on exactly these sums, which makes it rather embarrassing.",
    faults=(
        Fault(
            title="reversed grades keep the wrong answers",
            kind="labels",
            plant=(EditRows("data/sheet.jsonl", graded),),
            cause="In the sheet 1 is the best grade and 5 the worst, so the filter keeps the rows "
            "whose answers are wrong.",
            fix="Keep the rows with the good grades: turn the grades round, or the filter.",
            threads=("UltraFeedback#8",),
            also_kinds=("preference", "metric", "bad_numbers"),
            also_places=("prepare.py sheet_rows", "config.yaml least_grade"),
        ),
    ),
    non_fixes={
        "only the top grade": (Edit("config.yaml", "least_grade: 4 ", "least_grade: 5 "),),
        "every grade": (Edit("config.yaml", "least_grade: 4 ", "least_grade: 1 "),),
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 16"),),
    },
)
