"""From pasted log lines to ranked causes, with the lines and numbers that each rests on.

Standard library only: it answers before torch is imported, and can run in a browser.
"""

from course_utils.explain.answer import Answer
from course_utils.explain.reader import explain, explain_entries

__all__ = ["Answer", "explain", "explain_entries"]
