"""Replies behind their questions, then votes as text, then weights of another log."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case, Edit

ALONE = ("log_of_whole_lines", "text_is_always_true", "weights_of_kinder_people")

CASE = Case(
    id="three_behind_the_thumbs",
    level=3,
    template="kto_votes",
    ticket="The first report from the branch: it is worse than before and we do not know what to "
    "press. Headquarters, from which we have the whole thing, say that it is us: we keep other "
    "records, have another page, and other people come to us. They may be right three times.",
    faults=tuple(load(name).faults[0] for name in ALONE),
    non_fixes={
        "higher beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.5"),),
    },
)
