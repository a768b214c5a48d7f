"""The games as ordinary environments: Gymnasium (`gym`, and `vector` for many matches at once), PettingZoo (`aec`,
`parallel`), and their ids (`registration`). All are thin views of matches that the driver plays (`episode`, `views`);
rewards other than the game's own are `wrappers`."""
