"""Lessons as files: one source, the two notebooks generated from it, and their execution.

files          reads and writes notebooks
regions        solutions, and the stubs that replace them for students
lesson_source  a lesson as its author wrote it
derive         both notebooks of a lesson
findings       what is wrong with what was generated
execute        notebooks in child processes that may die
"""

import sys

# jsonschema, which nbformat imports, takes it for international addresses, and to import it costs
# each command and each grader a second. No notebook holds such an address to be checked.
sys.modules.setdefault("rfc3987_syntax", None)
