"""What a reader sees: tables, notes, figures, text of the right width. Decides nothing."""
