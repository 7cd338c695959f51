from captured_programs import captured, compiled, features, library, module, run_plainly  # noqa: F401
