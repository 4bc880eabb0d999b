"""Exercise 08.6: four logs; each is off by a factor, or right."""

from course_utils.checks.compare import number_differs
from course_utils.checks.declare import Criterion, Exercise, Observe

FACTORS = {"1": 16.0, "2": 0.5, "3": 1.0, "4": 4.0}


def has_four_numbers(factors: dict) -> str | None:
    keys = {str(key) for key in factors}
    if keys != set(FACTORS):
        return f"the keys are {sorted(keys)}; the check needs {', '.join(FACTORS)}"
    for key, value in factors.items():
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            return f"the value for {key} is {value!r}; the check needs a number"
    return None


def _is_right(number: str) -> Observe:
    def is_the_factor(factors: dict) -> str | None:
        got = float({str(k): v for k, v in factors.items()}[number])
        if number_differs(got, FACTORS[number], rtol=1e-3, given=number) is None:
            return None
        return f"for log {number} it gives {got:g}, and that is not the factor"

    is_the_factor.__name__ = f"factor_{number}"
    return is_the_factor


LOOKS = {number: _is_right(number) for number in FACTORS}
WHYS = {
    "1": "what is left after dividing tells whether anything else differs between the runs",
    "2": "each of two ranks divides by the count of both, and DDP then takes the mean",
    "3": "a ratio that no setting of the run explains is not a factor: the weights are wrong",
    "4": "a ratio that is not a whole number is a factor times something else",
}
NEXTS = {
    "1": "divide each of the four logs by the same setting: are the results similar?",
    "2": "divide one loss by the other",
    "3": "the ratio is 0.62, which no setting gives: which fault changes a loss without a factor?",
    "4": "which setting of this run is a whole number, and what is left when you divide by it?",
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
        "Which numbers can be a factor at all? Look for them in the settings of each run.",
        "Divide by the factor and compare the result with the right loss: the rest comes from the "
        "weights of the rows.",
        "In log 1, four runs differ in ranks, rows and G: which of these does the loss follow? In "
        "log 4 there is a factor, and 42.7 divided by it is not 12.6: that is the second fault.",
    ),
    form=has_four_numbers,
    criteria=tuple(
        Criterion(f"The factor in log {n} is right.", look, why=WHYS[n], next=NEXTS[n])
        for n, look in LOOKS.items()
    ),
    answer=PLAIN,
)
