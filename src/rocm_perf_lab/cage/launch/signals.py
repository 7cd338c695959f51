"""Python's module for signals, without the enumerations that it builds from their numbers, which take milliseconds."""

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

__all__ = ["signal"]
