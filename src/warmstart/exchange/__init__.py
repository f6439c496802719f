"""Other tools' logs: Vowpal Wabbit, Open Bandit Pipeline, coba; in, out and back in."""

from warmstart.exchange.coba import from_coba
from warmstart.exchange.export import Exported, export
from warmstart.exchange.frames import ImportedTables
from warmstart.exchange.import_vw import Imported, import_vw
from warmstart.exchange.obp import from_obp, to_obp
from warmstart.exchange.predictions import Decisions, import_predictions

__all__ = [
    "Decisions",
    "Exported",
    "Imported",
    "ImportedTables",
    "export",
    "from_coba",
    "from_obp",
    "import_predictions",
    "import_vw",
    "to_obp",
]
