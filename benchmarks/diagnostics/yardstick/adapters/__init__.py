"""Each tool, used as its own README says, behind the protocol.

These modules run in the tool's own environment. Their tables say which of our names a tool's word
means; a word that names no cause maps to nothing, and still counts as an alarm.
"""
