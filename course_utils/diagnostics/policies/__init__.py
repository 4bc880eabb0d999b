"""What a sampler and a trainer say about the same tokens, and why they differ."""

from course_utils.diagnostics.policies.comparing import PolicyComparison, compare_policies
from course_utils.diagnostics.policies.decoding import Decoding

__all__ = ["Decoding", "PolicyComparison", "compare_policies"]
