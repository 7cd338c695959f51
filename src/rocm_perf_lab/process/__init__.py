"""Starting, waiting for and stopping child processes."""
