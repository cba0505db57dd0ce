"""Why a run can't start or continue."""


class TrainingError(RuntimeError):
    """The text says what is wrong, where, and what is kept."""


class CheckpointError(TrainingError):
    """A checkpoint can't be written or read."""


class DivergedError(TrainingError):
    """The loss or the network's outputs are NaN or infinite. step: of the optimizer, from 0."""

    def __init__(self, text: str, step: int) -> None:
        super().__init__(text)
        self.step = step
