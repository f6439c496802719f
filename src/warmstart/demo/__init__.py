"""The paper's experiment on a simulated month."""

from warmstart.demo.experiment import Experiment, make_room, run_experiment
from warmstart.demo.tables import experiment_notes, experiment_tables

__all__ = ["Experiment", "experiment_notes", "experiment_tables", "make_room", "run_experiment"]
