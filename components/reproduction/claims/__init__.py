"""The paper's claims as tests over seeds."""
