"""How far weight decay alone shrinks a weight: rate x decay, summed over the steps."""

AT_ONCE = 5e-3  # of a weight, in one step: decay that gradients do not make up for
DECAYED = 0.5  # of the logarithm of a weight: a run that takes more leaves little of it
