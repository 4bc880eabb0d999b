"""The largest and smallest numbers of a training step, against the limits of float formats.

profile     one forward and backward pass, measured at every module
magnitudes  how large the numbers of a tensor are, by powers of two
report      what was measured, and whether a format could hold it
"""

from course_utils.diagnostics.range_profile.magnitudes import Magnitudes
from course_utils.diagnostics.range_profile.profile import profile_ranges
from course_utils.diagnostics.range_profile.report import Kind, Measured, RangeProfile, Survival

__all__ = ["Kind", "Magnitudes", "Measured", "RangeProfile", "Survival", "profile_ranges"]
