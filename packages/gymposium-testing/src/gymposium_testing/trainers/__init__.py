"""The conformance kit for trainers: small games with exact optima and gradients, as tests of any trainer.

    pytest --pyargs gymposium_testing.trainers --trainer my_adapter:MyTrainer

`MyTrainer` is a class or function that is called without arguments and returns a `Trainer` (level (a): does it
learn, up to the known optimum?) or a `RowTrainer` (level (b): are its rows, log-probabilities and steps right, and if
not, what is wrong?).

Install it with  pip install gymposium-testing.
"""

from gymposium_testing.trainers.protocol import (
    MovePolicy,
    ReadingModel,
    RolledOut,
    RowTrainer,
    SampledReply,
    TokenIds,
    TrainedMatch,
    TrainedRow,
    Trainer,
    TrainerTask,
    TrainingBudget,
    TrainingModel,
    Vector,
    spellings,
)
from gymposium_testing.trainers.registry import TrainerCheck, TrainerOutcome, outcomes, trainer_checks

__all__ = [
    "MovePolicy",
    "ReadingModel",
    "RolledOut",
    "RowTrainer",
    "SampledReply",
    "TokenIds",
    "TrainedMatch",
    "TrainedRow",
    "Trainer",
    "TrainerCheck",
    "TrainerOutcome",
    "TrainerTask",
    "TrainingBudget",
    "TrainingModel",
    "Vector",
    "outcomes",
    "spellings",
    "trainer_checks",
]
