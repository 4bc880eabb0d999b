"""How far weight decay alone shrinks a weight: rate x decay, summed over the steps."""

DECAYED = 0.5  # of the logarithm of a weight: a run that takes more leaves little of it
