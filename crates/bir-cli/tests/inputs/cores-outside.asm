.target v3
.stream ../PE
NOP
