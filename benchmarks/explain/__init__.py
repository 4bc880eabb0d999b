"""What `course explain` names from the logs of broken runs."""
