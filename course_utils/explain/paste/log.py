"""The content of a log, in bounded memory: entries in order, and lines that say how it ended."""

import math
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from course_utils.explain.paste import log_words, no_number
from course_utils.explain.paste.counts import COUNTS, Counts
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.shown_again import (
    are_shown_again,
    as_evaluation,
    is_below_a_summary,
    is_shown_again,
)

MAX_KEPT, MAX_RUNS = 20_000, 8
_OFF = r"(?![\"']?\s*[:=]\s*(false|no|1(\.0*)?)\b)"  # without a scaler a scale of 1 is printed
_SCALER = re.compile(
    rf"\b(?:(?:fp16|float16|half){_OFF}|(?:loss|grad)[_ ]scale{_OFF}|\w*scaler)\b|OVERFLOW!",
    re.IGNORECASE,
)
_ERROR = re.compile(r"^Traceback \(most recent|^\w*(Error|Exception)\b")
_SCALE = re.compile(r"Attempted loss scale: ([\d.e+]+), (?:reducing to|but hysteresis)")
_NO_SCALE_LEFT = re.compile(r"loss scale already at minimum", re.IGNORECASE)
POLICY = {"reward", "reward_std", "kl_loss", "kl", "policy_loss", "length", "advantage_max"}
SAMPLED = POLICY - {"reward", "reward_std"} | {"entropy"}  # of a policy that writes replies
TRAINED = ("loss", "policy_loss", "grad_norm")  # training rests on them
FEW_ROWS = 3  # with a step


@dataclass(frozen=True)
class Skip:
    """A step that a loss scaler skipped: the scale it tried, the line that says so."""

    scale: float
    line: Line


@dataclass
class Log:
    """The last run of a log: entries by order, thinned out evenly when there are many.

    Turning points always stay: entries in which some field becomes, or stops being, nan, inf or 0.
    """

    entries: list[Entry] = field(default_factory=list)
    num_entries: int = 0
    restart: str = ""  # how the last run was told from the one before it
    num_of_last: int = 0  # entries of the last run
    earlier: list["Log"] = field(default_factory=list)  # the runs before it, the last ones of them
    skips: list[Skip] = field(default_factory=list)
    names_scaler: bool = False
    error: Line | None = None  # the first line that names an error
    resumed: Line | None = None  # the line, before any entry, that says so
    resumes: list[tuple[Entry, Line]] = field(default_factory=list)  # lines between entries say so
    another: Line | None = None  # says, behind the last entry, that what follows is another run
    is_beside: bool = False  # pasted behind the run that the log is about, which it replaces not
    no_kl: Line | None = None  # says that the KL term has the weight 0
    weighs_kl: Line | None = None  # says that it has a weight
    kl_not_computed: Entry | None = None  # the first of the entries, whose kl is nan in all
    chooses: Line | None = None  # says that the best checkpoint is chosen by the evaluation
    of_scores: Line | None = None  # says that a reward model is trained
    of_reference: Line | None = None  # speaks of a reference, or of a loss that has one
    warms_up: Line | None = None  # says for how many steps the rate is to rise
    empty_cell: Entry | None = None  # the first row in which nan stands for no number
    begun_again: Entry | None = None  # its epoch falls back and its step goes on
    summary: Entry | None = None  # what sums up a whole run
    _evaluates: bool = False  # the last line with words names an evaluation of checkpoints
    _states: dict[str, str] = field(default_factory=dict)
    _turning: set[int] = field(default_factory=set)
    _counts: Counts = field(default_factory=Counts)

    def hear(self, line: Line | Entry) -> None:
        """Take what a line says of a loss scaler, and that it names an error."""
        if self.error is None and isinstance(line, Line) and _ERROR.search(line.text):
            self.error = line
        if isinstance(line, Line):
            self._hear_words(line)
        if isinstance(line, Entry) and line.numbers.get("loss_scale", 1.0) != 1:
            self.names_scaler = True
        if not _SCALER.search(line.text):
            return
        self.names_scaler = True
        if isinstance(line, Line) and (matched := _SCALE.search(line.text)):
            self.skips.append(Skip(float(matched[1]), line))
        elif isinstance(line, Line) and _NO_SCALE_LEFT.search(line.text):
            self.skips.append(Skip(0.0, line))
        del self.skips[:-MAX_KEPT]

    def _hear_words(self, line: Line) -> None:
        if line.text.strip():
            self._evaluates = bool(self.entries and log_words.EVALUATES.search(line.text))
        if not self.entries and log_words.RESUMED.search(line.text):
            self.resumed = line
        if self.entries and log_words.RESUMES.search(line.text):
            self.resumes.append((self.entries[-1], line))
            del self.resumes[:-MAX_KEPT]
        if len(self.entries) > 1 and log_words.ANOTHER_RUN.search(line.text):
            self.another = line
        if log_words.NO_KL.search(line.text):
            self.no_kl = line
        if log_words.WEIGHS_KL.search(line.text):
            self.weighs_kl = line
        if self.warms_up is None and log_words.WARMS_UP.search(line.text):
            self.warms_up = line
        if self.of_scores is None and log_words.OF_SCORES.search(line.text):
            self.of_scores = line
        if log_words.OF_REFERENCE.search(line.text):
            self.of_reference = line
        if log_words.CHOOSES.search(line.text):
            self.chooses = line

    @property
    def resumed_after(self) -> tuple[Entry, Line] | None:
        """The last line between entries that says that the run goes on, and the entry before."""
        return self.resumes[-1] if self.resumes else None

    def add(self, entry: Entry) -> bool:
        """Keep an entry; True if it begins another run, which replaces the one before.

        One that is pasted beside it replaces nothing: what was said of the run before still holds.
        """
        self.num_entries += 1
        if self._evaluates and self._is_of_checkpoint(entry):
            entry = as_evaluation(entry)
        restart = "" if _is_evaluation(entry) else self._restart(entry)
        if restart and not self.restart and is_below_a_summary(entry, self.entries):
            self._take_as_summary()
            restart = ""
        if restart:
            self._begin_anew(restart)
        if not _is_evaluation(entry):
            self._counts.take(entry)
        if self._turns(entry):
            self._turning.add(id(entry))
        self.entries.append(entry)
        self.num_of_last += 1
        if len(self.entries) > MAX_KEPT:
            self._thin_out()
        return bool(restart) and not self.is_beside

    def _take_as_summary(self) -> None:
        """What was read so far sums the run up whose curve begins now."""
        for one in self.entries:
            self.summary = self.summary.with_more(one) if self.summary else one
        self.entries, self.num_of_last = [], 0
        self._states, self._turning, self._counts = {}, set(), Counts()

    def _begin_anew(self, restart: str) -> None:
        self.earlier.append(replace(self, earlier=[]))
        del self.earlier[:-MAX_RUNS]
        self.is_beside = self.another is not None
        self.restart, self.num_of_last, self.another = restart, 0, None
        self.entries, self.skips, self.error, self.summary = [], [], None, None
        self._states, self._turning, self._counts = {}, set(), Counts()

    def close(self) -> None:
        """All has been read: what sums up a run stands for it if nothing else was logged."""
        if not self.entries and self.summary is not None and self.summary.has_metric:
            self.add(self.summary)
        while self.earlier and are_shown_again(self.earlier[-1].entries, self.entries):
            self.restart = self.earlier.pop().restart
        for run in (*self.earlier, self):
            run.empty_cell = no_number.drop_empty_cells(run.entries)
            if not run.weighs_kl:
                run.kl_not_computed = no_number.drop_kl_of_nothing(run.entries)

    def _restart(self, entry: Entry) -> str:
        """How this entry shows that another run begins; "" if it does not."""
        if self.another is not None:
            return self.another.says
        fall = self._counts.fall(entry)
        if not fall or len(self.entries) < 2:
            return ""
        if self._counts.of(entry) == "epoch" and self._counts.goes_on(entry):
            self.begun_again = self.begun_again or entry
            return ""
        return "" if is_shown_again(entry, self.entries) else fall

    def _is_of_checkpoint(self, entry: Entry) -> bool:
        """Whether an entry without rate and gradient stands at a step that the run has passed."""
        is_told = {"learning_rate", "grad_norm"} & entry.numbers.keys()
        return self._counts.has_passed(entry) and not is_told

    def is_other_row(self, entry: Entry) -> bool:
        """Whether a row of bare numbers, or a reply with its mark, has no step, and each entry of
        a long run has one."""
        is_row = not re.search("[A-Za-z:={]", entry.text) or (
            entry.numbers.keys() == {"reward"} and log_words.JUDGED.search(entry.text)
        )
        if not is_row or set(COUNTS) & entry.numbers.keys() or len(self.entries) < FEW_ROWS:
            return False
        return all("step" in one.numbers for one in self.entries)

    def _turns(self, entry: Entry) -> bool:
        states = {name: state_of(value) for name, value in entry.numbers.items()}
        changed = any(self._states.get(name) != state for name, state in states.items())
        self._states |= states
        return changed

    def _thin_out(self) -> None:
        """Drop every other entry that is no turning point (and of those, keep half at most)."""
        keeps = deque(self.entries)
        self.entries = [
            entry
            for number, entry in enumerate(keeps)
            if number % 2 == 0 or (id(entry) in self._turning and number < MAX_KEPT // 2)
        ]
        self._turning &= {id(entry) for entry in self.entries}

    @property
    def fields(self) -> set[str]:
        return set().union(*(entry.numbers for entry in self.entries)) if self.entries else set()

    def series(self, name: str) -> list[tuple[Entry, float]]:
        """The entries that have the field, with its value."""
        return [(e, e.numbers[name]) for e in self.entries if name in e.numbers]

    def values(self, name: str) -> list[float]:
        return [value for _, value in self.series(name)]

    def first(self, name: str, test: Callable[[float], bool]) -> Entry | None:
        return next((entry for entry, value in self.series(name) if test(value)), None)

    def not_finite(self) -> list[str]:
        """Each field that is nan or inf somewhere, with the first place."""
        firsts = ((name, self.first(name, lambda v: not math.isfinite(v))) for name in self.fields)
        return sorted(
            f"{e.names.get(name, name)} {e.numbers[name]:g} at {e.where}" for name, e in firsts if e
        )

    def where_it_began(self, entry: Entry) -> Entry:
        """The first of the entries up to `entry` whose loss or gradient is not finite, without a
        finite one between them; `entry` itself if there is none before it."""
        first = entry
        for one in reversed(self.entries[: self._place(entry)]):
            values = [one.numbers[name] for name in TRAINED if name in one.numbers]
            if all(map(math.isfinite, values)) and values:
                break
            first = one if values else first
        return first

    def _place(self, entry: Entry) -> int:
        return next(number for number, one in enumerate(self.entries) if one is entry)

    def is_after(self, entry: Entry, other: Entry) -> bool:
        """Whether one of `entries` stands behind another."""
        return self._place(entry) > self._place(other)

    def before(self, entry: Entry) -> Entry | None:
        """The entry just before one of `entries`."""
        at = self._place(entry)
        return self.entries[at - 1] if at else None

    @property
    def scores_pairs(self) -> bool:
        """Whether its rewards are scores of a reward model on pairs, whose mean is free."""
        return self.kind() == "preference" and not self.fields & SAMPLED

    @property
    def scores_alone(self) -> bool:
        """Whether it trains a reward model, whose scores stand against no reference."""
        told = self.of_scores is not None and self.of_reference is None
        return told and self.scores_pairs

    def kind(self) -> str:
        """preference, policy, or supervised: by its fields."""
        if self.fields & {"chosen_reward", "rejected_reward", "margin"}:
            return "preference"
        if self.fields & POLICY:
            return "policy"
        return "supervised"


def _is_evaluation(entry: Entry) -> bool:
    """Whether an entry is only of an evaluation, which may be logged late."""
    return all(name in COUNTS or name.startswith("eval_") for name in entry.numbers)


def state_of(value: float) -> str:
    """nan, inf, 0 or number.

    >>> [state_of(x) for x in (float("nan"), float("-inf"), -0.0, 0.5)]
    ['nan', 'inf', '0', 'number']
    """
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf"
    return "0" if value == 0 else "number"


def finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]
