"""A program that solves tickets by comparing them, as an outsider wrote it to win; frozen.

Its author had 120 tickets and their form, none of the course's code, and no answer. It reads each
folder into trees of what the code does, free of names and order, and puts back what other tickets
of its kind say. `python attack.py FOLDER --others FOLDERS`; `outsider_score.py` scores it.
"""
