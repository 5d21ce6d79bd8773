"""What an action is and how a policy draws it."""
