"""The statistics that the package needs. scipy provides all of them, but is as large as all other dependencies together."""
