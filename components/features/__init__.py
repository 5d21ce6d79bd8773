"""From the columns of frames and files to the features of a policy, the same for both."""
