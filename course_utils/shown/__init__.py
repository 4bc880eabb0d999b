"""Shows things to a reader: tables, notes, figures, wrapped text. Decides nothing."""
