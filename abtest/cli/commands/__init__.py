"""The commands, by what they do; importing a module registers its commands on the program."""
