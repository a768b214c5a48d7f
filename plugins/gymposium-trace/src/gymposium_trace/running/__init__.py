"""Running a program in a subprocess with limits (`limits`, `runs`), and in isolation unless it was generated
(`backends`). Each backend is tested before it is trusted (`probe`)."""
