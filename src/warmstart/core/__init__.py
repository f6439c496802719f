"""Names, errors and results that every room shares. Imports no other room."""
