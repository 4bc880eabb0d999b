"""The base of what a lesson hands to its reader: nothing on it can be replaced."""


class Frozen:
    """Its attributes are set once, so that a slip such as `ex.DECODE = ...` cannot hide a check."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__ or not name.startswith("_"):
            raise AttributeError(f"{name} belongs to the lesson; give your answer another name")
        self.__dict__[name] = value
