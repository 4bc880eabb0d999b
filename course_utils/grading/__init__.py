"""Grades what others hand in: submissions in, exactly one result out for each."""

import course_utils.notebook  # noqa: F401  first, because it shortens the import of nbformat
