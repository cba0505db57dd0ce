"""Why a run can't start or go on."""


class TrainingError(RuntimeError):
    """The text says what is wrong, where, and what is left."""


class CheckpointError(TrainingError):
    """A checkpoint can't be written or read."""


class DivergedError(TrainingError):
    """The loss, or what the network gives, is NaN or infinite. step: of the optimiser, from 0."""

    def __init__(self, text: str, step: int) -> None:
        super().__init__(text)
        self.step = step
