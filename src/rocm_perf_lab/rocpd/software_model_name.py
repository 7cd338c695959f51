"""The model name of software GPUs. In a module of its own, since the command line needs it before it needs a database."""

# What the topology of software devices gives for the name of each GPU. Any profiler records it as the agent's model.
SOFTWARE_MODEL = "software device"
