"""Prints every benchmark, the quick ones first."""

from course_utils.quiet import quiet_libraries

quiet_libraries()

from benchmarks import course_cost  # noqa: E402  (torch must be imported after the line above)

for table in (course_cost.import_cost, course_cost.check_cost, course_cost.lesson_cost):
    print(table().text(), end="\n\n", flush=True)
