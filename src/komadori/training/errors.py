"""Why a run can't start or go on."""


class TrainingError(RuntimeError):
    """The text says what is wrong, where, and what is left."""


class CheckpointError(TrainingError):
    """A checkpoint can't be written or read."""


class DivergedError(TrainingError):
    """The loss is no longer a finite number."""
