"""Late rewards: impressions in one table, what came of them in another."""

from warmstart.joining.join import join

__all__ = ["join"]
