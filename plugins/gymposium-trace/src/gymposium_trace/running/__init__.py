"""Running a program: in a subprocess of its own, within limits (`limits`, `runs`), behind walls where it is not ours
(`backends`), which are tried before they are trusted (`probe`)."""
