"""Modelled times compared with recorded ones: the parts of calibration.py."""
