from captured_programs import captured  # noqa: F401
