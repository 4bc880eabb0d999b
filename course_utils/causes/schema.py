"""The form of what `diagnose` and `course explain` give as JSON, and its version.

`schema` is the version. It rises when a name or a meaning changes; a new name alone changes
nothing for a reader that ignores the names it does not know. No value is nan or inf.

`diagnose(...).to_dict()`, `course preflight --json FILE`:

* `what`: what was diagnosed; `headline`: one sentence; `nothing_found`: no cause was found,
  something was looked at, and no look failed, which proves no health (version 1 called it
  `healthy`); `ended`: the error that ended the run, or "".
* `causes`, the likeliest first. Each has `key` (of `course_utils.causes.CAUSES`), `cause` and `fix`
  (sentences), `where` (the stage: training, sampling, the reward, evaluation, serving), `place` (a
  module, a column, a setting, a line), `said` (the evidence), `specimen` (lines of the thing
  itself), `against`, `rivals`, `consequences`, `basis` (counted, measured, likely, the log),
  `weight` and `sure` (how directly it was seen), `harm` and `harm_measured` (of the model),
  `lesson` and `instrument` (where to read on).
* `checked`, `shown`, `settings`, `unseen`: name -> sentence; what is fine, what was counted and is
  neither good nor bad, the run's settings, what was not looked at and why.
* `unexplained`: what is odd and follows from no cause; `no_faults`: keys of what only looks wrong.
* `unreadable`: the libraries whose version some looks cannot read.
* `doubts`: why "nothing found" would be no all-clear; `rows`, `first_loss` (of the run), `loss_now`
  (of the model as it is, where the run's first is not known), `moved`, `look_next`: what the short
  report shows where nothing is found.

`course explain --json`:

* `entries` and `lines`: how many were read; `healthy`: something is known to be well and nothing
  to be wrong.
* `findings`, the likeliest first. Each has `key`, `says`, `fix`, `look`, `lesson`, `instrument`,
  `thread`, `healthy` (it only looks like a fault), `where` and `line` (of the log), `for` and
  `against` (the evidence), `open` (what the log cannot tell of it, and what would).
"""

SCHEMA = 2
