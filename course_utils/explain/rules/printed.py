"""Numbers beside the settings that are printed for their run: `rule(log, beside)`."""

RULES = ()
