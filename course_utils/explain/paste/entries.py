"""The parts read from a log: entries with numbers, and lines with words."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from course_utils.explain.paste.fields import canonical

SUMMARY = {"train_runtime", "total_flos", "train_samples_per_second"}
MAX_QUOTE = 160
_ZEROS = re.compile(r"-?0\.(00+)")
LEFT_OUT = "lm loss (left out, which Megatron does with nan)"
NO_METRIC = {
    "step",
    "planned_steps",
    "epoch",
    "learning_rate",
    "loss_scale",
    "kl_coefficient",
    "tokens",
    "gen_batches",
    "returns",
}


class Said:
    """What stood somewhere in a log."""

    where: str
    text: str

    @property
    def says(self) -> str:
        """Its place and its words, as a proof quotes them."""
        return f"{self.where} says: {self.text.strip()[:MAX_QUOTE]}"


@dataclass(frozen=True)
class Entry(Said):
    """The numbers of one log entry under their names here, and where they stood.

    `rounded` holds the decimals of each 0 that is written with more than one of them.
    """

    where: str
    text: str
    numbers: dict[str, float]
    names: dict[str, str] = field(default_factory=dict)  # the log's own words for them
    sums_up: bool = False  # a whole run, and no point of it
    rounded: dict[str, int] = field(default_factory=dict)

    @property
    def has_metric(self) -> bool:
        return bool(self.numbers.keys() - NO_METRIC)

    def beneath(self, other: "Entry") -> "Entry":
        """Another entry with the numbers of this one where it has no count of its own."""
        if other.numbers.keys() & {"step", "epoch"}:
            return other
        return Entry(
            other.where,
            other.text,
            other.numbers | self.numbers,
            other.names | self.names,
            other.sums_up,
            other.rounded | self.rounded,
        )

    def with_more(self, other: "Entry") -> "Entry":
        """Both as one, at the place of the first."""
        return Entry(
            self.where,
            self.text,
            self.numbers | other.numbers,
            self.names | other.names,
            self.sums_up or other.sums_up,
            self.rounded | other.rounded,
        )


@dataclass(frozen=True)
class Line(Said):
    """A line that holds no numbers of a log entry, for those who look for words."""

    where: str
    text: str


def place(part: Entry | Line | str) -> int:
    """The number of the line, or entry, at which a part stands, or which a `where` names.

    >>> place(Line("line 12", "done")), place("entry 3")
    (12, 3)
    """
    where = part if isinstance(part, str) else part.where
    return int(where.rpartition(" ")[2])


def entries_of_row(
    where: str, text: str, pairs: Iterable[tuple[str, object]], needs_metric: bool = True
) -> Iterator[Entry]:
    """One entry, or none when no rule reads any of its numbers."""
    numbers: dict[str, float] = {}
    names: dict[str, str] = {}
    rounded: dict[str, int] = {}
    sums_up = False
    for name, value in pairs:
        sums_up = sums_up or name in SUMMARY
        known, number = canonical(str(name)), number_of(value)
        if known == "step" and number is not None and number % 1:
            continue  # a number that is told of a step
        if known and number is not None and known not in numbers:
            numbers[known], names[known] = number, str(name).strip()
            if zeros := _ZEROS.fullmatch(str(value).strip()):
                rounded[known] = len(zeros[1])
            whole = str(value).strip().partition("/")[2]
            if known == "step" and whole.isdigit():
                numbers["planned_steps"], names["planned_steps"] = float(whole), names[known]
    if numbers.get("skipped") == 0 and "loss" not in numbers and "skipped iter" in names["skipped"]:
        numbers["loss"], names["loss"] = math.nan, LEFT_OUT
    entry = Entry(where, short(text), numbers, names, sums_up, rounded)
    if sums_up or (numbers and (entry.has_metric or not needs_metric)):
        yield entry


def number_of(value: object) -> float | None:
    """A number as it is written in logs, or None.

    >>> [number_of(x) for x in ("2.5", "3/420", "-nan(ind)", True, None, "high")]
    [2.5, 3.0, nan, None, None, None]
    """
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).strip().split("/")[0].replace("(ind)", "").replace("nan.0", "nan")
    try:
        return float(text)
    except ValueError:
        return None


def plain_number(text: str) -> float:
    """A number whose thousands may be set apart.

    >>> plain_number("1,187"), plain_number("64_000")
    (1187.0, 64000.0)
    """
    return float(text.replace(",", "").replace("_", ""))


def share(text: str) -> float:
    """A share that is written as one, or in percent.

    >>> share("0.25"), share("25 %")
    (0.25, 0.25)
    """
    return float(text.rstrip("% ")) / (100 if "%" in text else 1)


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 3]}..."
