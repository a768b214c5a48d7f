"""Learning: rollouts, credit, objective, learner, and the loop around them."""
