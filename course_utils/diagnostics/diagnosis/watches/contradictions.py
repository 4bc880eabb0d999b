"""Counts replies that earn differently in two rows with the same prompt."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.libraries.trl import reward_names

MOST, FEWEST = 4096, 8  # replies that are kept; that must contradict each other
SHARE = 0.25  # of the replies that came in two rows


@dataclass
class Contradictions:
    """Rewards by prompt and reply, each with the number of the row that it was given in."""

    rewards: dict[tuple[str, str], dict[int, set[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    columns: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    prompts: list[str] = field(default_factory=list)  # of each row, in their order
    count: int = 0

    def read(
        self,
        rows: Any,
        said: Callable[[], Sequence[str]],
        rewards: Sequence[float] | None,
        group: int,
    ) -> None:
        """Read a batch of whole groups of `group` replies, each to one row of the data set."""
        if not isinstance(rows, list) or rewards is None or self.count >= MOST:
            return
        if len(rows) != len(rewards) or not all(isinstance(row, Mapping) for row in rows):
            return
        for at, (row, text, reward) in enumerate(zip(rows, said(), rewards, strict=False)):
            if at % group == 0:
                self.prompts.append(str(row.get("prompt")))
                for name, value in row.items():
                    self.columns[name].append(value)
            self.count += 1
            self.rewards[self.prompts[-1], text][len(self.prompts) - 1].add(reward)

    def judge(self, trainer: Any, sheet: Sheet) -> None:
        """Name rewards that depend on the row, where nothing but its number differs."""
        twice = {key: by for key, by in self.rewards.items() if len(by) > 1}
        if any(len(earned) > 1 for by in twice.values() for earned in by.values()):
            return  # a reward with chance in it, or one of the whole group
        apart = {key: by for key, by in twice.items() if len(set().union(*by.values())) > 1}
        if len(apart) < max(FEWEST, SHARE * len(twice)) or self._rows_differ():
            return
        (prompt, text), by = next(iter(apart.items()))
        earned = " and ".join(f"{one:.3g}" for one in sorted(set().union(*by.values())))
        names = ", ".join(reward_names(trainer))
        sheet.find(
            "reward_of_other_row",
            MEASURED,
            f"of {len(twice)} replies that came in two rows with the same prompt, {len(apart)} "
            "earn differently in each, and never within a row",
            place=names,
            why="the same reply to the same prompt earns one reward in one row and another in the "
            f"next: {names} looks its answer up in a row that is not the reply's own",
            advice=f"hand the answer to {names} as a column of the row itself; an index that was "
            "made before the rows were shuffled or filtered points to others",
            specimen=(f"{quoted(text)}, asked {quoted(prompt)}, earns {earned}",),
        )

    def _rows_differ(self) -> bool:
        """Whether rows of one prompt hold other answers; a column that numbers the rows is none."""
        kept = {name: v for name, v in self.columns.items() if len(v) == len(self.prompts)}
        return any(
            name != "prompt" and not self._numbers_rows(values) and self._differs(values)
            for name, values in kept.items()
        )

    def _numbers_rows(self, values: list[Any]) -> bool:
        """Whether these are whole numbers of which none comes with two prompts, as answers do."""
        is_whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        pairs = set(zip(values, self.prompts, strict=True)) if is_whole else set()
        return is_whole and len(pairs) == len(set(values)) and len(set(self.prompts)) > 1

    def _differs(self, values: list[Any]) -> bool:
        pairs = {(prompt, repr(v)) for prompt, v in zip(self.prompts, values, strict=True)}
        return len(pairs) > len(set(self.prompts))
