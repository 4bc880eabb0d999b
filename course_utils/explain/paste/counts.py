"""The last step and epoch of a run, and where an entry stands beside them."""

from dataclasses import dataclass, field

from course_utils.explain.paste.entries import Entry

FALLS_BACK = 0.9  # of the last step or epoch: what is below it began anew
COUNTS = ("step", "epoch")


@dataclass
class Counts:
    """The last step and epoch that were logged."""

    last: dict[str, float] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        self.last |= {name: entry.numbers[name] for name in COUNTS if name in entry.numbers}

    def of(self, entry: Entry) -> str:
        """By which of the two an entry is counted: by its epoch, unless that is a whole number
        and still the last one."""
        epoch = entry.numbers.get("epoch")
        is_whole = epoch is not None and epoch == self.last.get("epoch") and epoch % 1 == 0
        return "step" if epoch is None or (is_whole and "step" in self.last) else "epoch"

    def fall(self, entry: Entry) -> str:
        """How its count falls far below the last one; "" if it does not."""
        name = self.of(entry)
        last, now = self.last.get(name), entry.numbers.get(name)
        if last is None or now is None or not now < FALLS_BACK * last:
            return ""
        return f"{entry.names.get(name, name)} falls from {last:g} to {now:g} at {entry.where}"

    def goes_on(self, entry: Entry) -> bool:
        """Whether its step is the next one, whatever its epoch says."""
        last, now = self.last.get("step"), entry.numbers.get("step")
        return bool(last) and now is not None and last < now <= last + max(10.0, 0.5 * last)

    def has_passed(self, entry: Entry) -> bool:
        """Whether the run has passed the step of an entry already."""
        last, now = self.last.get("step"), entry.numbers.get("step")
        return None not in (last, now) and now <= last
