"""Orders the findings by how directly each was seen, and by how much else it explains."""

from dataclasses import replace

from course_utils.causes import ranked
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Found

SHORT = 60  # characters of two places on one line


def in_order(found: list[Found]) -> tuple[Found, ...]:
    """One Found a key, the likeliest first, without those that another, no weaker one explains.

    The order is the weight (counted before measured before what a log hints at), and half a point
    more for each other finding that the cause explains. What only the log's numbers tell is left
    out beside a cause that was counted in the run: a trend may be what that cause leads to.
    """
    best = _by_key(found)
    if any(one.weight >= COUNTED for one in best.values()):
        best = {key: one for key, one in best.items() if not one.is_of_log}
    kept = ranked({key: one.weight for key, one in best.items()})
    return tuple(_with_symptoms(best[key], best) for key in kept)


def _by_key(found: list[Found]) -> dict[str, Found]:
    """The strongest of each key, with what the others of that key say as well."""
    best: dict[str, Found] = {}
    for one in sorted(found, key=lambda one: -one.weight):
        if one.key not in best:
            best[one.key] = one
            continue
        first = best[one.key]
        said = tuple(dict.fromkeys((*first.said, *one.said)))
        place = _both(first.place, "" if one.is_of_log else one.place)
        best[one.key] = replace(first, said=said, place=place)
    return best


def _both(first: str, other: str) -> str:
    """Two places where one line holds both, else the first."""
    known = first.split(", ")
    more = [name for name in other.split(", ") if name and name not in known]
    joined = ", ".join([*filter(None, known), *more])
    return joined if len(joined) <= SHORT or not first else first


def _with_symptoms(one: Found, best: dict[str, Found]) -> Found:
    """The evidence, with that of what the cause explains."""
    symptoms = [best[key] for key in one.cause.explains & set(best) if key != one.key]
    said = tuple(
        f"which also explains this: {symptom.said[0]}" for symptom in symptoms if symptom.said
    )
    return replace(one, said=(*one.said, *sorted(said)[:2]))
