"""Counterfactual estimators, logger weights, divergences and bounds: functions of arrays."""
