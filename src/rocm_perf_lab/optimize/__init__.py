"""Proposes source changes using known transformations, builds them, has the gate judge them, and keeps the ones it accepts."""
