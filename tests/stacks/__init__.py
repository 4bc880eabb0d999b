"""The instruments beside other people's versions of the libraries: which say what they should.

declare  the stacks: a lock of each, and what it is
locks/   their versions
cases/   tiny runs with an instrument on them; they run in a stack with nothing but the instruments
beside   a fresh environment with a stack, into which pip puts the instruments
pythons  what was seen on Python 3.11 to 3.13
page     docs/stacks.md
"""
