"""Proposes source changes from known transformations, builds them, has the gate judge them and keeps those that it accepts."""
