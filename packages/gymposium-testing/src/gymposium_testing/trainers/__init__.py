"""The conformance kit for trainers, which tests any trainer on small games with exact optima and gradients.

    pytest --pyargs gymposium_testing.trainers --trainer my_adapter:MyTrainer

`MyTrainer`, a class or function without arguments, returns a `Trainer` or a `RowTrainer`. Level (a), `Trainer`, checks
that the trainer approaches the known optimum. Level (b), `RowTrainer`, also checks its rows, log-probabilities and
steps, and says what is wrong.

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
    find_spellings,
)
from gymposium_testing.trainers.registry import TrainerCheck, TrainerOutcome, list_trainer_checks, run_trainer_checks

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
    "find_spellings",
    "list_trainer_checks",
    "run_trainer_checks",
]
