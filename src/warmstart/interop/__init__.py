"""Other tools' logs: Vowpal Wabbit, Open Bandit Pipeline, coba; in, out and back in.

Reading needs no engine, so this imports nothing: every part is imported by its own name.
"""
