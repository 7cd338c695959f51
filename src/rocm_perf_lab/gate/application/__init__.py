"""Step 6, the application: the whole program works as before with the candidate, and shows no regression."""
