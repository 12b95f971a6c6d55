"""Interactive sessions: a secret model stays with the service, users send points and get answers with error bars."""
