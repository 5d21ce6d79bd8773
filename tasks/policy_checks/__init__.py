"""What a finished `learn` leaves about its policy: tests of its loss model, and its standing."""
