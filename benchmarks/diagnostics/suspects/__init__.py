"""Healthy runs that `diagnose` accused, or that their author thought it would: a file an author.

`blind_a` and `blind_b` are by authors who knew nothing of its rules. The others are by readers of
the rules who looked for what these accuse wrongly, a part of the rules each; all forty runs of
theirs were accused. `key.json` says why each run is healthy and of what it was accused at first,
and has the readers' doubts for which they wrote no run.
"""
