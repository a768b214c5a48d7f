"""The games as ordinary environments: Gymnasium (`gym`), PettingZoo (`aec`, `parallel`), and their ids
(`registration`). All are thin views of one match that the driver plays (`episode`, `views`)."""
