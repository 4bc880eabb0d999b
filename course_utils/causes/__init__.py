"""One catalogue of what is known of each cause that a log or an instrument can name.

Standard library only: it is read before torch is imported, and in a browser.
"""

from course_utils.causes.catalogue import BY_NAME, CAUSES
from course_utils.causes.cause import Cause, Phrase
from course_utils.causes.ranking import ranked

__all__ = ["BY_NAME", "CAUSES", "Cause", "Phrase", "ranked"]
