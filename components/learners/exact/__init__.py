"""The -exact methods: the closed form of the constraint and its multiplier."""
