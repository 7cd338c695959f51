"""What the package needs of statistics; scipy has it all, but is as large as everything else that the package needs."""
