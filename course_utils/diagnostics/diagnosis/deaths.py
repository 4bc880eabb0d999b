"""The diagnosis of a run that died in a child process, from what `run_in_child` says of it."""

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOPPED
from course_utils.diagnostics.processes.autopsy import Autopsy
from course_utils.diagnostics.processes.evidence import own_frame
from course_utils.explain import explain
from course_utils.explain.finding import Finding

LAST = 60  # lines of what it wrote that are read


def sheet_of_death(autopsy: Autopsy) -> Sheet:
    """Write down how the child ended: its signal or exception, its own line, its last words."""
    sheet = Sheet()
    if autopsy.exit_code == 0 and not autopsy.timed_out:
        sheet.clear("the child's end", autopsy.headline)
        return sheet
    sheet.ended = autopsy.headline
    sheet.became(STOPPED, autopsy.headline)
    found = _by_its_words(autopsy)
    sheet.find(
        found.key if found is not None else "python_error",
        COUNTED,
        autopsy.headline,
        *([f"last line: {autopsy.last_line}"] if autopsy.last_line else []),
        place=str(own_frame(autopsy.stack) or ""),
        why=autopsy.cause or (found.says if found is not None else ""),
        advice=autopsy.fix or (found.fix if found is not None else ""),
    )
    return sheet


def _by_its_words(autopsy: Autopsy) -> Finding | None:
    """What `course explain` says of the exception, the exit code, or the last lines."""
    exit_code = [] if autopsy.timed_out else [str(autopsy.exit_code)]
    last = [*autopsy.stdout.splitlines(), *autopsy.stderr.splitlines()][-LAST:]
    for lines in ([autopsy.exception or "", ""], exit_code, last):
        causes = explain(lines).causes if any(lines) else ()
        if causes:
            return causes[0]
    return None
