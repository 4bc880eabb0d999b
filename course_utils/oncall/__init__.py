"""Tickets: a colleague's broken run in a folder, drawn by seed, and a judge of the mended one.

    templates/   healthy runs as a colleague would leave them; each is trained by its own train.py
    cases/       what is planted into them, and the ticket about it; dropping a file in is enough
    desk         opens, checks and hints: what the command does, and a notebook can
    folder       draws a case and writes the folder
    check        judges the mended folder: trains it elsewhere, measures what it made
    prove        that a case is broken, that its fix passes, and that nothing else does
    bench        the same for any program

To add a case, read `course_utils.oncall.cases`. Importing this package imports no torch.
"""
