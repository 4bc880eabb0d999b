"""The largest and smallest numbers of a training step, against the limits of float formats.

profile     one forward and backward pass, measured at every module
magnitudes  how large the numbers of a tensor are, by powers of two
measurement the numbers of one kind at one place
survival    whether a format could hold a step, and on what the verdict rests
report      all that was measured
"""

from course_utils.diagnostics.range_profile.magnitudes import Magnitudes
from course_utils.diagnostics.range_profile.measurement import Kind, Measurement
from course_utils.diagnostics.range_profile.profile import profile_ranges
from course_utils.diagnostics.range_profile.report import RangeProfile
from course_utils.diagnostics.range_profile.survival import Survival

__all__ = ["Kind", "Magnitudes", "Measurement", "RangeProfile", "Survival", "profile_ranges"]
