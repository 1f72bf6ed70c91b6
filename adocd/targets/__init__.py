"""The ways to reach a database: through an agent, or by its directory alone."""
