"""Grades what others hand in: submissions in, exactly one result out for each."""
