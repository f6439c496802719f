"""The paper's experiment on a simulated month."""

from warmstart.demo.experiment import LEFT, Experiment, run_experiment
from warmstart.demo.room import make_room
from warmstart.demo.tables import experiment_notes, experiment_tables

__all__ = ["LEFT", "Experiment", "experiment_notes", "experiment_tables", "make_room", "run_experiment"]
