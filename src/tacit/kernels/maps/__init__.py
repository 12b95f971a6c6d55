"""Feature maps over public points or frequencies."""
