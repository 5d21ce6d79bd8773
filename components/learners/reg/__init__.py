"""The constraint of the -reg methods, by discriminators or in closed form."""
