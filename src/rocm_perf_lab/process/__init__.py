"""Child processes: started, waited for, stopped."""
