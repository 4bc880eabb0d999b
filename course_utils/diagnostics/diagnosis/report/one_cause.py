"""One cause as data, and as cells of a table."""

from course_utils.diagnostics.diagnosis.sheet.finding import Found
from course_utils.shown.page import Link


def as_dict(one: Found) -> dict:
    return {
        "key": one.key,
        "cause": one.says,
        "fix": one.fix,
        "where": one.verdict.where,
        "harm": one.harm.says,
        "harm_measured": one.harm.number,
        "sure": one.is_sure,
        "rivals": one.rivals,
        "place": one.place,
        "said": list(one.said),
        "against": list(one.against),
        "specimen": list(one.specimen),
        "consequences": dict(one.follows),
        "basis": one.basis,
        "weight": one.weight,
        "lesson": one.cause.lesson,
        "instrument": one.cause.instrument,
    }


def evidence(one: Found) -> str:
    against = tuple(f"against it: {said}" for said in one.against)
    return "; ".join([f"{one.basis}: {one.said[0]}", *one.said[1:], *one.specimen, *against])


def see(one: Found) -> str:
    said = one.cause.instrument
    if not one.cause.lesson:
        return said
    lesson = Link(f"lesson {one.cause.lesson[:2]}", to=f"{one.cause.lesson}.ipynb")
    return Link(f"{lesson}, {said}", to=lesson.to) if said else lesson
