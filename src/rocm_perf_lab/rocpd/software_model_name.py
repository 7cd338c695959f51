"""The model name of software GPUs, in a module of its own: the command line needs the name even without a database."""

# The name of every GPU in a software device's topology. Any profiler records it as the agent's model.
SOFTWARE_MODEL = "software device"
