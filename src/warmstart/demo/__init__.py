"""The paper's experiment on a simulated month."""
