"""Board games on which not everything is seen."""
