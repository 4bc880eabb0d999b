"""What grading costs, beside other graders."""
