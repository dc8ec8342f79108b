"""The command line: `lore`. One file per command in commands/, what they share beside them."""
