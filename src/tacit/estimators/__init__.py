"""What every estimator shares: parameters, budgets, tables, classes, fitted attributes."""
