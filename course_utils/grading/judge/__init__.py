"""Who decides: criteria run here, the student's code runs elsewhere and is only talked to."""
