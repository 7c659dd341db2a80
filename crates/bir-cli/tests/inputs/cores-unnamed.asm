.target v3
.stream PE
NOP
.stream PE
NOP
