"""Scripts that a launcher starts as two processes; the tests read what they leave behind."""
