"""Finds the settings that make a working configuration die: delta debugging in child processes.

It never changes a setting's value: a probe takes each from the one configuration or the other.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from course_utils.diagnostics.processes.autopsy import Autopsy, warm_children
from course_utils.diagnostics.processes.bisect_probe import Probe
from course_utils.errors import BadRequest, DidNotFail
from course_utils.shown.progress_line import LINE
from course_utils.shown.report import Report, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIVED = "lived"


class _NotSet:
    """The value of a setting that only the other configuration has."""

    def __repr__(self) -> str:
        return "(not set)"


NOT_SET = _NotSet()


def ddmin(changes: Sequence, fails: Callable[[tuple], bool]) -> tuple:
    """A minimal subset of `changes` that still fails: none of its changes can be left out.

    Args:
        changes: all of them together are known to fail, and none of them is known not to.
        fails: says whether a subset fails *in the same way*. A different failure is False: Zeller
            calls it unresolved, and like a success it must not be minimised further.

    Source:
        Zeller & Hildebrandt (2002), "Simplifying and Isolating Failure-Inducing Input", IEEE
        Transactions on Software Engineering 28(2), the algorithm ddmin.

    >>> ddmin("abcdefgh", lambda subset: {"b", "g"} <= set(subset))
    ('b', 'g')
    """
    changes, num_parts = tuple(changes), 2
    while len(changes) > 1:
        bounds = [len(changes) * part // num_parts for part in range(num_parts + 1)]
        spans = list(pairwise(bounds))
        parts = [changes[start:end] for start, end in spans]
        rests = [changes[:start] + changes[end:] for start, end in spans] if num_parts > 2 else []
        if smaller := next(filter(fails, parts), None):
            changes, num_parts = smaller, 2
        elif smaller := next(filter(fails, rests), None):
            changes, num_parts = smaller, num_parts - 1
        elif num_parts == len(changes):
            break
        else:
            num_parts = min(2 * num_parts, len(changes))
    return changes


@dataclass(frozen=True)
class Bisection(Report):
    """The smallest sets of settings that kill the working configuration, and every probe.

    `causes` holds one tuple per independent cause. A tuple of two or more names settings that
    fail together and, each alone, do not. `values` maps a setting to its dying value.
    """

    failure: str
    values: dict[str, object]
    causes: tuple[tuple[str, ...], ...]
    probes: tuple[Probe, ...]

    @property
    def headline(self) -> str:
        num, sets = len(self.values), [self._name(cause) for cause in self.causes]
        if len(sets) > 1:
            return f"{self.failure} has {len(sets)} causes, each enough: {'; or '.join(sets)}"
        together = " together" if len(self.causes[0]) > 1 else ""
        return f"{self.failure} needs {len(self.causes[0])} of {num} settings{together}: {sets[0]}"

    def table(self) -> Table:
        rows = [
            (str(number), self._describe(probe.settings), probe.outcome)
            for number, probe in enumerate(self.probes, start=1)
        ]
        return Table(columns=("probe", "settings of the dying run", "outcome"), rows=rows)

    def to_dict(self) -> dict:
        values = {name: repr(value) for name, value in self.values.items()}
        return {**asdict(self), "values": values}

    def draw(self, ax: "Axes") -> None:
        """Draw the probes as a tree: each below the set that it reduces."""
        # matplotlib, which bisecting does not need
        from course_utils.diagnostics.processes.bisect_tree import draw_tree

        draw_tree(ax, list(self.values), self.probes, self.failure)
        told = [f"{number}, {what}: {ended}" for number, what, ended in self.table().rows]
        ax.set_label(f"Each probe hangs on the set that it cuts down. {'; '.join(told)}.")

    def _name(self, cause: tuple[str, ...]) -> str:
        return ", ".join(f"{name}={self.values[name]!r}" for name in cause)

    def _describe(self, settings: tuple[str, ...]) -> str:
        rest = [name for name in self.values if name not in settings]
        if not rest:
            return f"all {len(self.values)}"
        if len(rest) < len(settings):
            return f"all but {', '.join(rest)}"
        return ", ".join(settings) or "none"


def bisect_config(
    works: Mapping[str, object],
    dies: Mapping[str, object],
    probe: Callable[[dict], object],
    *,
    preload: Sequence[str] = (),
    timeout_s: float = 60.0,
    env: Mapping[str, str] | None = None,
    in_child: Callable[..., Autopsy] | None = None,
) -> Bisection:
    """Find the settings that make `works` die as `dies` does.

    Args:
        works: a configuration with which `probe` returns.
        dies: one with which it ends otherwise: by a signal, an exception or the time limit.
        probe: trains with a configuration; of a module, a notebook or a closure. It is called in
            a fresh child each time, forked from a process that has imported what is slow (where
            the platform cannot fork, started anew).
        preload: modules that `probe` imports inside itself, such as "trl.trainer.grpo_trainer".
        timeout_s: limit of each probe.
        env: environment variables for the children.
        in_child: what `warm_children` yields, to share its imports; `preload` and `env` are its.

    Raises:
        BadRequest: the configurations do not differ, or the working one does not work.
        DidNotFail: the dying one lives.

    A probe that ends in another way than `dies` did, such as with the ValueError of an impossible
    combination, is shown and not followed. Causes that share a setting are found as one.

    >>> def train(config):
    ...     assert not (config["bf16"] and config["steps"] > 5)
    >>> good, bad = {"bf16": False, "steps": 1, "seed": 0}, {"bf16": True, "steps": 9, "seed": 1}
    >>> print(bisect_config(good, bad, train).headline)
    AssertionError needs 2 of 3 settings together: bf16=True, steps=9
    """
    _check_request(works, dies, probe)
    names = [name for name in {**dies, **works} if _get(works, name) != _get(dies, name)]
    tried: dict[tuple[str, ...], str] = {}
    children = nullcontext(in_child) if in_child else warm_children(preload=preload, env=env)
    with children as run:

        def outcome(settings: tuple[str, ...]) -> str:
            if settings not in tried:
                LINE.show(f"bisecting: probe {len(tried) + 1}, with {len(settings)} settings")
                mixed = _mix(works, dies, settings)
                autopsy = run(partial(probe, mixed), timeout_s=timeout_s)
                tried[settings] = autopsy.outcome
                _check_ends(autopsy, settings, names)
            return tried[settings]

        outcome(())
        failure, remaining, causes = outcome(tuple(names)), tuple(names), []
        while outcome(remaining) == failure:
            cause = ddmin(remaining, lambda settings: outcome(settings) == failure)
            causes.append(cause)
            remaining = tuple(name for name in remaining if name not in cause)
    probes = tuple(Probe(settings, ended) for settings, ended in tried.items())
    values = {name: _get(dies, name) for name in names}
    return Bisection(failure, values, tuple(causes), probes)


def _check_request(works: object, dies: object, probe: object) -> None:
    for config in (works, dies):
        if not isinstance(config, Mapping):
            raise BadRequest(
                f"a configuration is a {type(config).__name__}",
                why="settings are swapped by their names",
                fix="give dicts of settings, and build the rest in the probe: "
                "lambda settings: train(GRPOConfig(**settings))",
            )
    if not callable(probe):
        raise BadRequest(
            f"the probe is a {type(probe).__name__}",
            why="it is called anew for each set of settings, in a child",
            fix="pass the function itself, train and not train(config)",
        )


def _get(config: Mapping[str, object], name: str) -> object:
    return config.get(name, NOT_SET)


def _mix(works: Mapping, dies: Mapping, settings: tuple[str, ...]) -> dict[str, object]:
    mixed = {**works, **{name: _get(dies, name) for name in settings}}
    return {name: value for name, value in mixed.items() if value is not NOT_SET}


def _check_ends(autopsy: Autopsy, settings: tuple[str, ...], names: list[str]) -> None:
    """Check that one end of the search works and the other dies."""
    if not settings and autopsy.outcome != LIVED:
        raise BadRequest(
            f"the working configuration does not work: {autopsy.headline}",
            why="a search for what breaks it needs a run that is not broken",
            fix="look at the child's own output: run_in_child(probe, works).stderr",
        )
    if len(settings) == len(names) and autopsy.outcome == LIVED:
        different = f"with {len(names)} different settings" if names else "and equals the other"
        raise DidNotFail(
            f"the dying configuration lives, {different}",
            why="there is no failure to look for",
            fix="check that both configurations are the ones that ran; a failure that comes and "
            "goes needs a fixed seed first",
        )
