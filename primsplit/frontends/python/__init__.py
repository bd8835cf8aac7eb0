"""Python as it is traced: control flow, containers, and the functions of modules that do not dispatch."""
