"""Which tokens of a row are learnt: labels, masks, ends."""
