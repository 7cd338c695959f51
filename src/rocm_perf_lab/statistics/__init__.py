"""The statistics that the package needs; scipy provides them all, but is as large as all other dependencies together."""
