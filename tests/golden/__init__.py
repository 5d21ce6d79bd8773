"""Every method's result on two small logs, kept as digests."""
