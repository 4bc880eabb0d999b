"""Tickets: a colleague's broken run in a folder, drawn by seed, and a judge for the fixed one.

    templates/   healthy runs as a colleague would leave them; each is trained by its own train.py
    cases/       the faults planted into them, and the tickets about them; a new file is enough
    actions      opens a ticket, checks it, gives hints: for the command and for notebooks
    choosing     chooses a new ticket: of a lesson, of a class, none again before its time
    folder       draws a case and writes the folder
    check        judges the fixed folder: trains it elsewhere, measures the result
    prove        shows that a case is broken, that its fix passes, and that nothing else does
    bench        scores any program on tickets

To add a case, read `course_utils.oncall.cases`. Importing this package imports no torch.
"""
