"""The library of the course: what lessons import, and what helps with a broken run of your own.

Importing it is cheap and imports no torch. Its parts, in the order a lesson meets them:

    lesson       starts a lesson: quiet libraries, pinned threads, its exercises
    zoo          tiny trained models, their tokenizer, the data they were trained on
    failures     failures that must happen, and child processes that may die
    numerics     what a float format can hold
    diagnostics  the first bad number, the cut graph, the dead process, the guard
    plotting     figures that refuse to hide a NaN
    concepts     pictures of ideas, a module for each lesson
    exercises    what each exercise asks, and what it must reject
    commands     the `course` command
"""

__version__ = "0.1.0"
