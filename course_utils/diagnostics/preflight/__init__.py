"""The looks that `diagnose` takes without training, on a script, before it trains.

script          starts the script in a child process, and says how that ended
child           runs in the child: the script, until it would train; then the looks
beginnings      where a script begins to train: `Trainer.train`, or an optimizer's first step
stand_ins       what the script has asked for and gets otherwise: its output folder, a GPU
"""

from course_utils.diagnostics.preflight.script import preflight_script

__all__ = ["preflight_script"]
