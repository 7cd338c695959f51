"""Proposes source changes using known transformations, builds them, has the gate judge them and keeps those that it accepts."""
