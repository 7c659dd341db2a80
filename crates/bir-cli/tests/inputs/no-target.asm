NOP wait sem27>=16
