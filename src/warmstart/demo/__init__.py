"""The paper's experiment on a simulated month, and a router's log from its raw form to a verdict."""

from warmstart.demo.experiment import LEFT, Experiment, run_experiment
from warmstart.demo.room import make_room
from warmstart.demo.routing import ROUTING_LEFT, Routing, run_routing
from warmstart.demo.routing_tables import routing_notes, routing_tables
from warmstart.demo.tables import experiment_notes, experiment_tables

__all__ = [
    "LEFT",
    "ROUTING_LEFT",
    "Experiment",
    "Routing",
    "experiment_notes",
    "experiment_tables",
    "make_room",
    "routing_notes",
    "routing_tables",
    "run_experiment",
    "run_routing",
]
