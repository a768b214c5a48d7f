"""What hostile replies, kills, broken plugins, faulty servers and tampering do to gymposium: tries and failures."""
