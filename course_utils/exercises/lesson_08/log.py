"""Exercise 08.6: four logs; each is off by a factor, or right."""

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise, Observe

FACTORS = {"1": 16.0, "2": 0.5, "3": 1.0, "4": 4.0}


def has_four_numbers(factors: dict) -> str | None:
    keys = {str(key) for key in factors}
    if keys != set(FACTORS):
        return f"the keys are {sorted(keys)}, and {', '.join(FACTORS)} are asked"
    for key, value in factors.items():
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            return f"for {key} it says {value!r}, where a number is asked"
    return None


def _is_right(number: str) -> Observe:
    def is_the_factor(factors: dict) -> str | None:
        got = float({str(k): v for k, v in factors.items()}[number])
        return number_differs(got, FACTORS[number], rtol=1e-3, given=f"log {number}")

    is_the_factor.__name__ = f"factor_{number}"
    return is_the_factor


LOOKS = {number: _is_right(number) for number in FACTORS}
WHYS = {
    "1": "what is left after the factor says whether anything else differs between the runs",
    "2": "two ranks, each divided by the count of both, and DDP takes the mean",
    "3": "what no setting of the run explains is no factor: its rows are weighed wrongly",
    "4": "a ratio that is no whole number is a factor and something else",
}
NEXTS = {
    "1": "take the same setting out of the log of each of the four runs: is what is left alike?",
    "2": "divide the one loss by the other",
    "3": "no setting of this run is 0.62: which fault changes a loss without a factor?",
    "4": "which whole number can stand in this run's log, and what is left once it is out?",
}
PLAIN = {"1": 16, "2": 0.5, "3": 1, "4": 4}

LOG = Exercise(
    id="08.6",
    name="LOG",
    title="Read logs that are off by a factor",
    minutes=5,
    difficulty="four numbers",
    points=3,
    reads="factors",
    expects=(dict,),
    hints=(
        "Which numbers can be a factor at all? They stand in the settings of each run.",
        "Take the factor out and compare what is left with the loss that is right: the rest is the "
        "weights of the rows.",
        "In log 1 four runs differ in ranks, rows and G: which of them does the loss follow? In "
        "log 4 there is a factor, and 42.7 over it is not 12.6: that is the other fault.",
    ),
    form=has_four_numbers,
    criteria=tuple(
        Criterion(f"The factor in log {n} is right.", look, why=WHYS[n], next=NEXTS[n])
        for n, look in LOOKS.items()
    ),
    answer=PLAIN,
)
