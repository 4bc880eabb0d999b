"""No pair fits, then both replies are one column, then rejected replies of one digit."""

from course_utils.oncall.cases import no_pair_fits, one_column_twice, rejected_are_cut
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="no_room_one_column_short_losers",
    level=3,
    template="reward_pairs",
    ticket="It is the folder of the judge that we want to show in Zürich. Today it "
    "quits within seconds. Two of us have looked for an evening and disagree on "
    "whether there is a single thing wrong or a whole bunch. The wrong answers were "
    "once any number below a thousand, off the top of somebody's head.",
    faults=(
        *no_pair_fits.CASE.faults,
        *one_column_twice.CASE.faults,
        *rejected_are_cut.CASE.faults,
    ),
    non_fixes={
        "no warm-up": (Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 0"),),
        "no centring": (Edit("config.yaml", "center_rewards: 0.01 ", "center_rewards: 0.00 "),),
    },
)
