"""The model name of software GPUs. It has its own module, since the command line needs it before it needs a database."""

# The name of each GPU in the topology of software devices. Any profiler records it as the agent's model.
SOFTWARE_MODEL = "software device"
