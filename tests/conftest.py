"""Pins one thread and silences the libraries before anything imports torch."""

import signal

from course_utils.quiet import quiet_libraries

quiet_libraries()
# A job that a shell started in the background ignores Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
