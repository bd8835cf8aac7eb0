"""Record functions as single ops (`call::name`) whose body is a block, with a rule of their own if they have one."""
