.target trn2
NOP wait sem27>=16
Matmul sorce=SB(p0,0x0)[1:128]
