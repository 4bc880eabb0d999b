"""All records by key, in the order in which their phrases are tried."""

from itertools import chain

from course_utils.causes import (
    ends,
    gradients,
    inputs,
    libraries,
    losses,
    numbers,
    policy,
    preference,
    processes,
    rates,
    rewards,
    weights,
)
from course_utils.causes.cause import Cause

_ROOMS = (
    processes,
    numbers,
    gradients,
    weights,
    inputs,
    ends,
    losses,
    rates,
    rewards,
    policy,
    preference,
    libraries,
)
CAUSES: dict[str, Cause] = {
    one.key: one for one in chain.from_iterable(room.RECORDS for room in _ROOMS)
}
BY_NAME = {name: key for key, cause in CAUSES.items() for name in cause.names}  # of instruments
