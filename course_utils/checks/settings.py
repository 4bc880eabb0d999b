"""Checks the form of an answer that is a dict of settings: its keys. Trains nothing."""

from collections.abc import Callable
from difflib import get_close_matches

from course_utils.checks.declare import Observe


def only(*allowed: str, at_most: int | None = None) -> Observe:
    """Observe that a dict has only keys in `allowed`, and at most `at_most` of them.

    What an exercise does not ask about stays as in the report, the seed and the data above all.

    >>> asks = only("optim", "dtype", at_most=1)
    >>> asks({"optim": "sgd"})
    >>> asks({"sead": 1})
    "'sead' is not asked here and stays as reported; the keys are optim, dtype"
    >>> asks({"optim": "sgd", "dtype": "float32"})
    'at most one setting is asked, and 2 are given'
    """

    def has_the_settings_asked(settings: dict) -> str | None:
        for key in settings:
            if key not in allowed:
                close = get_close_matches(str(key), allowed, n=1)
                meant = f" (did you mean {close[0]}?)" if close else ""
                keys = ", ".join(allowed)
                return (
                    f"{key!r} is not asked here and stays as reported{meant}; the keys are {keys}"
                )
        if at_most is not None and len(settings) > at_most:
            number = "one setting is" if at_most == 1 else f"{at_most} settings are"
            return f"at most {number} asked, and {len(settings)} are given"
        return None

    return has_the_settings_asked


def both(*looks: Observe) -> Observe:
    """Observe several forms in order; the first that differs is named."""

    def has_every_form(answer) -> str | None:
        return next(filter(None, (look(answer) for look in looks)), None)

    return has_every_form


def plain(settings: dict) -> dict:
    """`settings` with each torch.dtype by its name, as trainers and configurations take it.

    >>> import torch
    >>> plain({"dtype": torch.bfloat16})
    {'dtype': 'bfloat16'}
    """
    names = {key: str(value).removeprefix("torch.") for key, value in settings.items()}
    return {k: names[k] if type(v).__name__ == "dtype" else v for k, v in settings.items()}


class OverSeeds:
    """The runs of one answer, one per seed, each trained when a criterion first needs it.

    Once a criterion has failed on a seed, later ones look only at the seeds trained so far: the
    student waits no longer than the verdict needs.

    Args:
        ahead: called with the other seeds once the first has passed, to train them side by side.
    """

    def __init__(
        self,
        train: Callable[[int], object],
        seeds: tuple[int, ...],
        *,
        ahead: Callable[[tuple[int, ...]], object] = lambda seeds: None,
    ) -> None:
        self._train, self._seeds, self._runs, self._ahead = train, seeds, {}, ahead

    def first_unmet(self, observe: Observe) -> str | None:
        for seed in self._seeds:
            if seed not in self._runs:
                if len(self._runs) == 1:
                    self._ahead(self._seeds[1:])
                self._runs[seed] = self._train(seed)
            if seen := observe(self._runs[seed]):
                self._seeds = tuple(self._runs)
                return f"{seen} (seed {seed})"
        return None


def over_seeds(observe: Observe) -> Observe:
    """Turns a criterion on a single run into one on the runs of `OverSeeds`."""

    def look(runs: OverSeeds) -> str | None:
        return runs.first_unmet(observe)

    look.__name__ = observe.__name__
    return look
