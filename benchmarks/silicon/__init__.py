"""Modelled times beside recorded ones: what calibration.py consists of."""
