"""All looks, in the order in which they are taken."""

from course_utils.diagnostics.diagnosis.looks.adapter import look_at_adapter
from course_utils.diagnostics.diagnosis.looks.after import look_at_outcome
from course_utils.diagnostics.diagnosis.looks.batch import look_at_batch
from course_utils.diagnostics.diagnosis.looks.displaced import look_at_displaced
from course_utils.diagnostics.diagnosis.looks.forward import look_at_forward
from course_utils.diagnostics.diagnosis.looks.gradient import look_at_gradients
from course_utils.diagnostics.diagnosis.looks.log import look_at_log
from course_utils.diagnostics.diagnosis.looks.packing import look_at_packing
from course_utils.diagnostics.diagnosis.looks.reward import look_at_rewards
from course_utils.diagnostics.diagnosis.looks.row_mask import look_at_row_mask
from course_utils.diagnostics.diagnosis.looks.settings import look_at_settings
from course_utils.diagnostics.diagnosis.looks.shown_settings import write_settings
from course_utils.diagnostics.diagnosis.looks.split import look_at_split
from course_utils.diagnostics.diagnosis.looks.tables import look_at_tables
from course_utils.diagnostics.diagnosis.looks.trends import look_at_trends
from course_utils.diagnostics.diagnosis.looks.unread import look_at_unread
from course_utils.diagnostics.diagnosis.looks.versions import look_at_versions
from course_utils.diagnostics.diagnosis.looks.weights import look_at_weights
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

BEFORE = (
    look_at_versions,
    look_at_weights,
    look_at_adapter,
    look_at_batch,
    look_at_row_mask,
    look_at_packing,
    look_at_tables,
    look_at_settings,
    look_at_forward,
    look_at_split,
    look_at_gradients,
    look_at_rewards,
    look_at_unread,
    write_settings,
)


def look_before(subject: Subject, sheet: Sheet) -> None:
    """Look at data, weights, settings and one forward pass: takes seconds, changes nothing."""
    for look in BEFORE:
        with sheet.trying(look.__name__.replace("_", " ")):
            look(subject, sheet)


def look_after(subject: Subject, sheet: Sheet) -> None:
    """Look at the log, and at the model that the run leaves."""
    known = ("rate_unusual",) if subject.args is not None else ()  # looks_settings has the rate
    look_at_log(subject.log, sheet, known=known)
    look_at_trends(subject, sheet)
    look_at_outcome(subject, sheet)
    with sheet.trying("replies of the first pairs"):
        look_at_displaced(subject, sheet)
