"""A run of several processes (ranks): which rank went bad first, and its step, replayed in one.

own_gradient  a rank's gradient before it is summed with the others'
watching      one rank's watch: no collective, no wait, nothing raised
folder        what a rank writes: a record, and a dump of the step that broke
report        the records of all ranks, judged together
replaying     a dumped step, run again in one process
passes        what a rank keeps of a step, and the dump of it
batches       odd rows of a batch
"""

from course_utils.diagnostics.ranks.replaying import ReplayedStep, replay_rank
from course_utils.diagnostics.ranks.report import RanksReport, read_ranks
from course_utils.diagnostics.ranks.watching import RankWatch, watch_ranks

__all__ = [
    "RankWatch",
    "RanksReport",
    "ReplayedStep",
    "read_ranks",
    "replay_rank",
    "watch_ranks",
]
