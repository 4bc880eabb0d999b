"""Grades submissions: exactly one result for each.

A submission's way, and the one name that each station is called by:

intake         which file is whose              of_folder, shard
submission     read, bounded                    read_submission
handout        what the student was given       load_handout
repair         her cells, known again           repaired
merge          her answers in the lesson        merge
judge/         what decides                     ask.Box, in a box of `box/`
one            all of this, for one             grade_one
worker, known  a process that does it; answers it has seen before
batch          a class, on this machine         grade_all; `on_dask` on others
result         what came of one                 Grade, CannotBeGraded, GraderFailed
outcome_files  for Moodle, CI and each student

It never changes what was handed in, and runs nothing of it outside a box. Importing this package
imports none of its parts: the boxes hold them, too.
"""

import course_utils.notebook  # noqa: F401  first, because it shortens the import of nbformat
