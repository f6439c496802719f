"""Other tools' logs: Vowpal Wabbit, Open Bandit Pipeline, coba; in, out and back in."""

from warmstart.exchange.import_vw import Imported, import_vw

__all__ = ["Imported", "import_vw"]
