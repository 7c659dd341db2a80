; Three words of a small kernel; offsets and comments mean nothing.
.target trn2
.stream PE
0000: Ldweights wait sem8>=16 src=SB(p0,0x37cfe)[-1:32,0:1,-32:4] in_dtype=FP16 transpose_mode=1 num_active_rows=128 num_active_cols=128 row_grp=15 col_grp=15
Matmul upd sem5+=1 src=SB(p0,0x37b00)[1:128] dst=PS(p0,b1)[1:128] in_dtype=FP16 num_active_rows=128 num_active_cols=128 row_grp=15 col_grp=15 psum_accumulate_flags=START|STOP transpose_mode=1
.stream Pool
NOP wait sem27>=16
.word ee100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
.byte 0102
