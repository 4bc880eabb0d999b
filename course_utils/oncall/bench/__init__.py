"""Scores any program on unseen tickets.

drawing     tickets from a secret seed, some of them healthy
running     each ticket in a sandboxed copy with a time limit, then judged
stored      the conditions of a score, and its tickets line by line
score       one ticket's score; rates with their intervals, and the table of them
result      the file of results, and its schema
"""
