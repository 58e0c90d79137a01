"""Who answers a search: the built-in index, and later QMD and LanceDB."""
