"""What is stored: ReFrame's reports, their records, suspects, and what one run at a time needs."""
