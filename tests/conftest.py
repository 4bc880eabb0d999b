"""Pins one thread and silences the libraries before anything imports torch."""

from course_utils.quiet import quiet_libraries

quiet_libraries()
