"""Running a program in a subprocess with limits (`limits`, `runs`), and isolated if it is not generated (`backends`).

Each way of running is tested before it is trusted (`probe`)."""
