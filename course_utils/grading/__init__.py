"""Grades submissions: exactly one result for each."""

import course_utils.notebook  # noqa: F401  first, because it shortens the import of nbformat
