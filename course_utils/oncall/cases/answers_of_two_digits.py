"""The rollouts were checked by a program that reads two digits."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def read_short(rows, rng):
    """Wins by a check that reads two digits of an answer: a longer one never agrees."""
    return [row | {"wins": _agreed(row["steps"], row["wins"])} for row in rows]


def _agreed(steps, wins):
    answers = [step.rpartition("=")[2].strip() for step in steps]
    return [count if len(text) < 3 else 0 for text, count in zip(answers, wins, strict=True)]


CASE = Case(
    id="answers_of_two_digits",
    level=2,
    template="step_marks",
    ticket="Anything beyond ninety-nine is a mistake to it, at least where the additions are long; "
    "below that it lets a good deal pass. A child of six would behave like this. It was given "
    "larger amounts than that, hundreds of them, so lack of practice is not it.",
    faults=(
        Fault(
            title="success counts of a verifier that cuts numbers",
            kind="labels",
            plant=(EditRows("data/rollouts.jsonl", read_short),),
            cause="The program that counted the wins reads two digits, so steps with a larger "
            "answer have no win at all and are marked wrong.",
            fix="Count again with a check that reads whole numbers, or leave steps with three "
            "digits unmarked there.",
            threads=("TRICE#2", "helm#4337"),
            also_kinds=("metric", "no_signal", "reward_hacking"),
            also_places=("marks.py of_rollouts", "config.yaml least_wins"),
        ),
    ),
    non_fixes={
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
        "twice the steps": (Edit("config.yaml", "max_steps: 60", "max_steps: 120"),),
    },
)
