"""Commands of the operator that run when something happens."""
