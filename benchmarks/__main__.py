"""Prints every benchmark, the quick ones first."""

from course_utils.shown.quiet import quiet_libraries

quiet_libraries()

# torch must be imported after the line above.
from benchmarks import # noqa: E402
    course_cost
from benchmarks.grading import graders, cost as grading_cost
from benchmarks.diagnostics import nonfinite, two_processes
from course_utils.exercises import all_lessons  # noqa: E402

print(course_cost.import_cost(), end="\n\n", flush=True)
print(course_cost.check_cost(all_lessons()), end="\n\n", flush=True)
nonfinite.main()
print(two_processes.compare(), end="\n\n", flush=True)
print(graders.side_by_side(), end="\n\n", flush=True)
print(grading_cost.grading_cost(all_lessons()), end="\n\n", flush=True)
print(course_cost.lesson_cost())
