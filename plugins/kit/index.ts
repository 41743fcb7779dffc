/** The kit's face: stateless helpers for plugin authors. */
