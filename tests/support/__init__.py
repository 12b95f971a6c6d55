"""What several test modules use: servers, tables, reference implementations, exact critical values."""
