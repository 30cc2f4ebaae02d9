"""The only SQL of jobs. Each function is one statement unless its docstring says otherwise."""
