"""Orders causes, and drops those that a cause at least as strong explains."""

from collections.abc import Mapping

from course_utils.causes.catalogue import CAUSES

BONUS = 0.5  # for each other cause that it explains


def ranked(weights: Mapping[str, float], *, in_a_log: bool = False) -> tuple[str, ...]:
    """The keys of the causes, the likeliest first; of two that explain each other, the stronger.

    Args:
        weights: how directly each was seen, by key.
        in_a_log: the weights of a log already count what else it shows, and it tells rivals apart
            less well than a live run: both stay.

    >>> ranked({"no_gradient": 7.0, "rate_zero": 7.0, "python_error": 1.0})
    ('rate_zero', 'python_error')
    """
    explains = {key: CAUSES[key].explains & weights.keys() for key in weights}
    if in_a_log:
        explains = {key: those - CAUSES[key].rivals for key, those in explains.items()}
    bonus = 0 if in_a_log else BONUS
    scores = {key: weight + bonus * len(explains[key]) for key, weight in weights.items()}

    def beats(key: str, symptom: str) -> bool:
        is_mutual = key in explains[symptom]
        return scores[key] > scores[symptom] or (scores[key] == scores[symptom] and not is_mutual)

    explained = {
        symptom
        for key in weights
        for symptom in explains[key]
        if key != symptom and beats(key, symptom)
    }
    kept = [key for key in weights if key not in explained]
    return tuple(sorted(kept, key=lambda key: -scores[key]))
