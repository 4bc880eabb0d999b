"""Finds coefficients that are set but ignored, because their switch is off."""

from typing import Any

from course_utils.diagnostics.diagnosis.sheet.finding import MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

FAR = 10.0  # times the coefficient that is read: less may be a default that nobody meant
# A switch, the coefficient that it has read, and the coefficient of the other place of the KL.
KL_PLACES = (
    ("use_kl_loss", "kl_loss_coef", "kl_coef"),
    ("use_kl_in_reward", "kl_coef", "kl_loss_coef"),
)


def look_at_unread(subject: Subject, sheet: Sheet) -> None:
    """Check both places of the KL coefficient, in verl's names."""
    for switch, unread, other in KL_PLACES:
        _judge(subject.settings, switch, unread, other, sheet)


def _judge(settings: dict[str, Any], switch: str, unread: str, other: str, sheet: Sheet) -> None:
    value, counts = settings.get(unread), settings.get(other) or 0.0
    if settings.get(switch) is not False or not isinstance(value, int | float):
        return
    if value <= FAR * counts or value <= 0:
        sheet.show(unread, f"{value:g}, and not read: {switch} is False")
        return
    sheet.find(
        "kl_without_effect",
        MEASURED,
        f"{unread} is {value:g}, {switch} is False",
        f"the coefficient that is read is {other}, {counts:g}",
        place=switch,
        why=f"{unread} is set and never read, because {switch} is False",
        advice=f"{switch}=False -> True: {unread}={value:g} is then read",
    )
