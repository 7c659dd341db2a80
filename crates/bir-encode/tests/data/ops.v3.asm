.target v3 ; trn2
; Matmult
Ldweights            wait sem9>=3 src=SB(p0,0x807e)[-1:32,0:1,-32:2] in_dtype=BFLOAT16 num_active_rows=128 num_active_cols=64 row_grp=15 col_grp=3
Matmul               upd sem4+=1 dst=PS(p0,b2)[1:512] src=SB(p0,0x4000)[1:512] in_dtype=BFLOAT16 num_active_rows=128 num_active_cols=64 psum_accumulate_flags=START row_grp=15 col_grp=3 psum_zero_region=BANKS_4
; Matmult, float32 in two passes
Ldweights            wait sem9>=3 src=SB(p0,0x80fc)[-1:32,0:1,-32:2] in_dtype=FP32 fp32_mode=HIGH num_active_rows=128 num_active_cols=64 row_grp=15 col_grp=3
Matmul               dst=PS(p0,b2)[1:512] src=SB(p0,0x4000)[1:512] in_dtype=FP32 fp32_mode=LOW_HIGH num_active_rows=128 num_active_cols=64 psum_accumulate_flags=START row_grp=15 col_grp=3
Ldweights            src=SB(p0,0x80fc)[-1:32,0:1,-32:2] in_dtype=FP32 fp32_mode=LOW num_active_rows=128 num_active_cols=64 row_grp=15 col_grp=3
Matmul               upd sem4+=1 dst=PS(p0,b2)[1:512] src=SB(p0,0x4000)[1:512] in_dtype=FP32 fp32_mode=LOW_HIGH num_active_rows=128 num_active_cols=64 psum_accumulate_flags=STOP row_grp=15 col_grp=3
; Matmult, float32r
Ldweights            wait sem9>=3 src=SB(p0,0x80fc)[-1:32,0:1,-32:2] in_dtype=FP32 fp32_mode=HIGH num_active_rows=128 num_active_cols=64 row_grp=15 col_grp=15
Matmul               upd sem4+=1 dst=PS(p0,b2)[1:512] src=SB(p0,0x4000)[1:512] in_dtype=FP32 fp32_mode=HIGH num_active_rows=128 num_active_cols=64 psum_accumulate_flags=START|STOP row_grp=15 col_grp=15
; Matmult, transposing
Ldweights            wait sem9>=3 src=SB(p0,0x80fe)[-1:32,0:1,-32:4] in_dtype=BFLOAT16 transpose_mode=1 num_active_rows=128 num_active_cols=128 row_grp=15 col_grp=15
Matmul               upd sem4+=1 dst=PS(p0,b2)[1:128] src=SB(p0,0x4000)[1:128] in_dtype=BFLOAT16 transpose_mode=1 num_active_rows=128 num_active_cols=128 psum_accumulate_flags=START|STOP row_grp=15 col_grp=15
; Matmult on a tile
Ldweights            wait sem9>=3 src=SB(p64,0x803e)[-1:32,0:1,-32:1] in_dtype=BFLOAT16 num_active_rows=32 num_active_cols=32 row_grp=4 col_grp=2
Matmul               upd sem4+=1 dst=PS(p32,b1)[1:512] src=SB(p64,0x4000)[1:512] in_dtype=BFLOAT16 num_active_rows=32 num_active_cols=32 psum_accumulate_flags=ACCUMULATE row_grp=4 col_grp=2
; MatmultSparse
Ldtags               wait sem9>=3 src=SB(p0,0x9000)[1:16] in_dtype=INT16 num_active_rows=128 row_grp=15
Ldweights            src=SB(p0,0x803e)[-1:32,0:1,-32:1] in_dtype=BFLOAT16 num_active_rows=128 num_active_cols=32 row_grp=15 col_grp=1
MatmulSparse         upd sem4+=1 dst=PS(p0,b1)[1:512] src=SB(p0,0x4000)[2:32,128:2,512:2] in_dtype=BFLOAT16 num_active_rows=128 num_active_cols=32 psum_accumulate_flags=START|STOP row_grp=15 col_grp=1
; Activation
Activate             wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] accumulator_cmd=ZeroAccumulate in_bias_dtype=FP32/FP32 out_dtype=BFLOAT16 num_active_channels=64 activation_func=gelu scale_value=SB(p0,0x5100) bias=SB(p0,0x5000)
; Activation with a sum
Activate             wait sem9>=3 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] accumulator_cmd=ZeroAccumulate in_bias_dtype=FP32/FP32 out_dtype=BFLOAT16 num_active_channels=64 activation_func=exp scale_value=2.0 bias=0.25
ActivationReadAccumulator upd sem4+=1 dst=SB(p0,0x7000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; LoadActFuncSet
ActivationTableLoad  wait sem9>=3 upd sem4+=1 act_tbl_sel=7
; ReadActivationAccumulator
ActivationReadAccumulator wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; ActivationReadAccumulator
ActivationReadAccumulator wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; DveReadAccumulator
DveReadAccumulator   wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:1] dst_element_count=1 dtype=FP32 negated=1 num_active_channels=64
; TensorCopy
Copy                 wait sem9>=3 upd sem4+=1 dst=SB(p0,0x8000)[1:5,10:4,40:3,120:2] src=SB(p0,0x4000)[1:5,10:4,40:3,120:2] in_dtype=FP16 out_dtype=FP16 num_active_channels=64
; TensorCopy that casts
Cast                 wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=INT32 out_dtype=BFLOAT16 num_active_channels=64
; Reciprocal
Reciprocal           wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64
; TensorTensor
TensorTensorArith    wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] in0_in1_dtype=BFLOAT16/FP32 out_dtype=FP32 op=SUBTRACT num_active_channels=64
; TensorTensor of bits
TensorTensorBitvec   wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6005)[1:64] src0=SB(p0,0x4001)[1:64] src1=SB(p0,0x5003)[1:64] in0_in1_dtype=UINT8/UINT8 out_dtype=UINT8 op=BITWISE_XOR num_active_channels=64
; TensorReduce
TensorReduceArith    wait sem9>=3 upd sem4+=1 dst=SB(p0,0x8000)[1:6] src=SB(p0,0x4000)[1:5,10:1,10:3,30:2] in_dtype=BFLOAT16 out_dtype=FP32 num_active_channels=64 negated=1 op=ADD op_dim=XY
; TensorReduce of bits
TensorReduceBitvec   wait sem9>=3 upd sem4+=1 dst=SB(p0,0x8000)[1:1] src=SB(p0,0x4000)[1:64] in_dtype=INT32 out_dtype=INT32 num_active_channels=64 op=BITWISE_OR op_dim=X
; TensorReduce, transposed
TransposeTensorReduceArith wait sem9>=3 upd sem4+=1 dst=SB(p0,0x8000)[1:1] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 op=MAX op_dim=X
; TensorReduce over partitions
CrossLaneReduceArith wait sem9>=3 upd sem4+=1 dst=SB(p0,0x8000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 reduce_op=average reduce_axis=1 scale=0.015625
; Pool
Pool                 wait sem9>=3 upd sem4+=1 dst=SB(p0,0x8000)[1:6] src=SB(p0,0x4000)[1:2,4:2,8:3,24:2] in_dtype=BFLOAT16 out_dtype=FP32 num_active_channels=64 pool_func=Avg pool_scale=0.25
; Memset
Memset               wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] dst_element_count=64 dtype=FP32 num_active_channels=64 set_value=1.5
; Memset, random
Rng                  wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] dst_element_count=64 dtype=FP32 num_active_channels=64
; Rng
Rng                  wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] dst_element_count=64 dtype=FP32 num_active_channels=64
; Iota
Iota                 wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] pattern=-5[-1:16,16:4] out_dtype=INT32 num_active_channels=64 channel_multiplier=64
; StreamShuffle
LoadMaskSelect       wait sem9>=3 mask=[96,96,96,96,27,26,25,24,23,22,21,20,19,18,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1]
StreamShuffle        upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64
; StreamTranspose
LoadMaskSelect       wait sem9>=3 mask=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31]
StreamTranspose      upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64
; StreamTranspose of few partitions
StreamTranspose      wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:16] src=SB(p0,0x4000)[1:16] in_dtype=FP32 out_dtype=FP32 num_active_channels=32
; Gather
PoolBufferLoad       wait sem9>=3 src=SB(p0,0x4000)[1:512] in_dtype=FP32 num_active_channels=64 element_count=512
Gather               dst=SB(p0,0x9000)[1:32] src=SB(p0,0x8000)[1:32] in_dtype=UINT32 out_dtype=FP32 num_active_channels=64
PoolBufferLoad       src=SB(p0,0x4800)[1:488] in_dtype=FP32 num_active_channels=64 element_count=488
Gather               upd sem4+=1 dst=SB(p0,0x9000)[1:32] src=SB(p0,0x8000)[1:32] in_dtype=UINT32 out_dtype=FP32 num_active_channels=64 continuation=1
; IndirectCopy
IndirectCopy         wait sem9>=3 upd sem4+=1 dst=SB(p0,0x9000)[1:32] src={index_addr=idx:SB(p0,0x8000),data_addr=SB(p0,0x4000),num_elem=16} in_dtype=FP32 out_dtype=FP32 num_active_channels=64 src_num_elem_per_idx=2 src_buffer_size=512
; TensorScalar
TensorScalarArith    wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=BFLOAT16 out_dtype=FP32 num_active_channels=64 op0=MULT op1=MAX reverse_operands=SECOND imm0=-1.5 imm1=0.25
; TensorScalar of bits
TensorScalarBitvec   wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=INT32 out_dtype=INT32 num_active_channels=64 op0=BITWISE_AND imm0=255
; TensorScalar with a sum
TensorScalarCacheReduce wait sem9>=3 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] accumulator_cmd=ZeroAccumulate in_dtype=FP32 out_dtype=FP32 num_active_channels=64 op0=ADD imm0=1.0
DveReadAccumulator   upd sem4+=1 dst=SB(p0,0x7000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; TensorScalarPtr
TensorScalarArith    wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=BFLOAT16 out_dtype=FP32 num_active_channels=64 op0=SUBTRACT op1=MULT reverse_operands=FIRST imm0=SB(p0,0x5000) imm1=2.0
; TensorScalarPtr with a register
TensorScalarArith    wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 op0=ADD imm0=r2
; TensorScalarPtr of bits
TensorScalarBitvec   wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=INT32 out_dtype=FP32 num_active_channels=64 op0=BITWISE_XOR imm0=4294967295
; TensorScalarPtr, transposed
TransposeTensorScalarArith wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 op0=ADD imm0=1.0
; TensorScalarPtr with a sum
TensorScalarCacheReduce wait sem9>=3 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] accumulator_cmd=ZeroAccumulate in_dtype=FP32 out_dtype=FP32 num_active_channels=64 op0=ADD imm0=1.0
DveReadAccumulator   upd sem4+=1 dst=SB(p0,0x7000)[1:1] dst_element_count=1 dtype=FP32 negated=1 num_active_channels=64
; TensorScalarPtr, scalar-tensor-tensor
ScalarTensorTensorArith wait sem9>=3 dst=SB(p0,0x6000)[1:64] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] op0=MULT op1=ADD in0_in1_dtype=FP32/BFLOAT16 out_dtype=FP32 num_active_channels=64 imm0_dtype=FP32 accumulator_cmd=ZeroAccumulate imm0=0.5
DveReadAccumulator   upd sem4+=1 dst=SB(p0,0x7000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; TensorScalarPtr, scan
TensorTensorScanArith wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] op0=MULT op1=ADD in0_in1_dtype=FP32/FP32 out_dtype=FP32 num_active_channels=64 imm0_dtype=FP32
; TensorScalarCache
TensorScalarCacheReduce wait sem9>=3 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] accumulator_cmd=LoadAccumulate in_dtype=FP32 out_dtype=FP32 num_active_channels=64 op0=MULT op1=ADD imm0=2.0 imm1=1.0
DveReadAccumulator   upd sem4+=1 dst=SB(p0,0x7000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; TensorScalarCache, cumulative
TensorScalarCacheCumulative wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] accumulator_cmd=ZeroAccumulate in_dtype=FP32 out_dtype=FP32 num_active_channels=64 op0=MULT op1=ADD imm0=2.0
; CopyPredicated
CopyPredicated       wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] in0_in1_dtype=UINT8/FP32 out_dtype=FP32 num_active_channels=64
; CopyPredicated that casts
CastPredicated       wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] in0_in1_dtype=UINT8/BFLOAT16 out_dtype=FP32 num_active_channels=64
; CopyPredicated of a number
CopyPredicatedScalar wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] pred=SB(p0,0x4000)[1:64] pred_dtype=UINT8 reversed_pred=1 num_active_channels=64 in_dtype=FP32 out_dtype=FP32 src0_imm=3.0
; CopyPredicated with a reduction
SelectReduce         wait sem9>=3 dst=SB(p0,0x6000)[1:64] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] op1=MAX in0_in1_dtype=UINT8/FP32 out_dtype=FP32 num_active_channels=64 imm0_dtype=FP32 accumulator_cmd=ZeroAccumulate imm0=-1.0
DveReadAccumulator   upd sem4+=1 dst=SB(p0,0x7000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; RangeSelect
RangeSelect          wait sem9>=3 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] num_active_channels=64 in_out_dtype=FP32/FP32 reduce_cmd=RESET_REDUCE reduce_op=MAX base=128.0 fill_val=-3.4028235e38 comp_op0=IS_GE comp_op1=IS_LT bound0=SB(p0,0x5000) bound1=100.0
DveReadAccumulator   upd sem4+=1 dst=SB(p0,0x7000)[1:1] dst_element_count=1 dtype=FP32 num_active_channels=64
; TensorScalarAffineSelect
TensorScalarAffineSelect wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] mask_pattern=1[-1:64] src=SB(p0,0x4000)[1:64] num_active_channels=64 in_out_dtype=FP32/FP32 fill_mode=GE fill_reg=9 channel_multiplier=1
; Dropout
Dropout              wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 threshold_dtype=FP32 threshold_type=KEEP_RATE threshold=0.9
; NonzeroWithCount
NonzeroWithCount     wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:65] src=SB(p0,0x4000)[1:64] num_active_channels=64 in_dtype=FP32 out_dtype=INT32 padding_val=-1
; GetSequenceBounds
GET_SEQUENCE_BOUNDS  wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:128] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=INT32
; Max
Max8                 wait sem9>=3 upd sem4+=1 dst=SB(p0,0x601c)[-1:8,0:1] src=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64
; MaxIndex
MatchValueLoad       wait sem9>=3 src=SB(p0,0x401c)[-1:8,0:1] dtype=FP32 num_active_channels=64
FindIndex8           upd sem4+=1 dst=SB(p0,0x6000)[1:8] src=SB(p0,0x5000)[1:64] in_dtype=FP32 out_dtype=UINT16 num_active_channels=64
; MatchReplace
MatchValueLoad       wait sem9>=3 src=SB(p0,0x4000)[1:8] dtype=FP32 num_active_channels=64
MatchReplace8        upd sem4+=1 dst=SB(p0,0x6000)[1:64] src=SB(p0,0x5000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 immediate=-9.5
; MaxIndexAndMatchReplace
MatchValueLoad       wait sem9>=3 src=SB(p0,0x4000)[1:8] dtype=FP32 num_active_channels=64
MatchReplace8        dst=SB(p0,0x6000)[1:64] src=SB(p0,0x5000)[1:64] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 immediate=-9.5
DveReadIndices       upd sem4+=1 dst=SB(p0,0x7000)[1:8] dtype=UINT32 num_active_channels=64
; BNStats
BatchNormStats2      wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:6] src=SB(p0,0x4000)[1:63] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 even_count=32.0 odd_count=31.0
; BNStats, transposed
TransposeBatchNormStats2 wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:6] src=SB(p0,0x4000)[1:63] in_dtype=FP32 out_dtype=FP32 num_active_channels=64 even_count=32.0 odd_count=31.0
; BNStatsAggregate
BatchNormAggregate   wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:2] src=SB(p0,0x4000)[1:12] in_dtype=FP32 out_dtype=FP32 num_active_channels=64
; BNGradients
BatchNormGradAccumulate wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:3] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] mean=SB(p0,0x7000) varfactor=SB(p0,0x7100) in0_in1_dtype=FP32/FP32 imm_dtype=FP32 out_dtype=FP32 num_active_channels=64
; BNBackprop
BatchNormParamLoad   wait sem9>=3 src=SB(p0,0x7000)[1:3] imm1=640.0 dtype=FP32 num_active_channels=64 imm0=SB(p0,0x7100)
BatchNormBackProp    upd sem4+=1 dst=SB(p0,0x6000)[1:64] src0=SB(p0,0x4000)[1:64] src1=SB(p0,0x5000)[1:64] in0_in1_dtype=FP32/FP32 out_dtype=FP32 num_active_channels=64
; GetRandState
RandGetState         wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:24] dtype=UINT32 num_active_channels=64
; RandGetState
RandGetState         wait sem9>=3 upd sem4+=1 dst=SB(p0,0x6000)[1:6] dtype=UINT32 num_active_channels=64
; SetRandState
PseudoSetRngSeed     wait sem9>=3 upd sem4+=1 src=SB(p0,0x4000)[1:24] num_active_channels=64 in_dtype=UINT32 rand_generator=XORWOW
; SetRandState on Pool
RandSetState         wait sem9>=3 upd sem4+=1 src=SB(p0,0x4000)[1:6] num_active_channels=64 in_dtype=UINT32 rand_generator=XORWOW
; RandSetState
RandSetState         wait sem9>=3 upd sem4+=1 src=SB(p0,0x4000)[1:6] num_active_channels=64 in_dtype=UINT32 rand_generator=XORWOW
; Load
PSEUDO_DMA_DIRECT2D  wait sem9>=3 dst=SB(p0,0x4000)[1p:128]x256 src=table0+0x20100[1024:128]x512 semaphore=sem4 sem_increment=16 in_dtype=FP32 out_dtype=BFLOAT16
; Save
PSEUDO_DMA_DIRECT2D  wait sem9>=3 dst=table0+0x20100[1024:128]x512 src=SB(p0,0x4000)[1p:128]x256 semaphore=sem4 sem_increment=16 in_dtype=BFLOAT16 out_dtype=FP32
; DMACopy
PSEUDO_DMA_DIRECT2D  wait sem9>=3 dst=SB(p0,0x4000)[1p:128]x256 src=table0+0x20100[1024:128]x512 semaphore=sem4 sem_increment=16 in_dtype=FP32 out_dtype=BFLOAT16
; DMACopy that adds
PSEUDO_DMA_DIRECT2D  wait sem9>=3 dst=table0+0x20100[1024:128]x512 src=SB(p0,0x4000)[1p:128]x256 semaphore=sem4 sem_increment=16 dge_op=DMA_INDIRECT1D in_dtype=BFLOAT16 out_dtype=FP32
PSEUDO_EXTENSION     flags={idx_bound_is_err=1} compute_op=ADD src_idx_start_addr=SB(p0,0x0) dst_idx_start_addr=SB(p0,0x0)
; DMACopy by an index tensor
PSEUDO_DMA_DIRECT2D  wait sem9>=3 dst=SB(p0,0x4000)[1p:128]x1024 src=var1+0x0[1024:128]x1024 semaphore=sem4 sem_increment=16 dge_op=DMA_INDIRECT1D in_dtype=FP32 out_dtype=FP32
PSEUDO_EXTENSION     flags={idx_bound_is_err=1,gather_dim=W} idx_num_active_channels=128 src_idx_start_addr=SB(p0,0x8000) dst_idx_start_addr=SB(p0,0x0) src_bound_size_bytes=0x80000
; DMATrigger
PSEUDO_DMATRIGGER    queue_name="qSPIn"
; IndirectLoad
PSEUDO_DMAMEMCPY_FULL_IND wait sem9>=3 upd sem4+=1 indirect_start_offset=16384 indirect_step_elems0=1 indirect_step_elems1=262144 indirect_num_elems0=1 indirect_num_elems1=64 direct_start_offset=24576 direct_step_elems0=256 direct_step_elems1=262144 direct_num_elems0=1 direct_num_elems1=64 direct_elem_size=256 semaphore_wait_value=2 semaphore_wait_value_hi=1
; IndirectSave
PSEUDO_DMAMEMCPY_FULL_IND wait sem9>=3 upd sem4+=1 indirect_start_offset=16384 indirect_step_elems0=1 indirect_step_elems1=262144 indirect_num_elems0=1 indirect_num_elems1=64 direct_start_offset=24576 direct_step_elems0=256 direct_step_elems1=262144 direct_num_elems0=1 direct_num_elems1=64 direct_elem_size=256 indirection_mode=DST_INDIRECTION
; GPSIMDSB2SB
SB2SB_COLLECTIVE     wait sem9>=3 upd sem4+=1 dst_mem_pattern=SB(p0,0x6000)[1:64] src_mem_pattern=SB(p0,0x4000)[1:64] in_dtype=FP32 out_dtype=FP32 lnc_size_fmt=1 num_active_channels=64
; NoOp
NOP                  wait sem9>=3 upd sem4+=1
; Halt
HALT                 wait sem9>=3 upd sem4+=1
; Drain
DRAIN                wait sem9>=3 upd sem4+=1 drain_count=1
; EventSemaphore
EVENT_SEMAPHORE      wait sem9>=3 upd2 sem4+=1
; GroupResetSemaphores
EVENT_SEMAPHORE_RANGE_CLEAR wait sem9>=3 upd sem4+=1 clear_mode=SemaphoreZero range_first=sem5 range_last=sem7
; AllEngineBarrier
PSEUDO_SYNC_BARRIER  wait sem9>=3 upd sem4+=1
; CoreBarrier
PSEUDO_CORE_BARRIER  wait sem9>=3 upd sem4+=1 id=3 semaphore=17
; Return
PSEUDO_FUNCTION_RETURN wait sem9>=3 upd sem4+=1
; Exit
PSEUDO_INST          wait sem9>=3 upd sem4+=1 pseudo_opcode=PSEUDO_EXIT_EXECUTION
; Call
PSEUDO_FUNCTION_CALL wait sem9>=3 upd sem4+=1 function_name="callee"
; UnconditionalBranch
COMPARE_BRANCH       wait sem9>=3 upd sem4+=1 br_target_mode=RELATIVE_IMMEDIATE
; CompareAndBranch
COMPARE_BRANCH       wait sem9>=3 upd sem4+=1 cmp_op=IS_LTREG dtype=INT32 br_target_mode=RELATIVE_IMMEDIATE cmp_reg0=r1 cmp_reg1=r2
; RegisterMove
MOVE                 wait sem9>=3 upd sem4+=1 num_mov=1 dtype=INT32 move_source=IMMEDIATE immediate=x"f9ffffff"
; RegisterMove between registers
MOVE                 wait sem9>=3 upd sem4+=1 num_mov=1 dtype=FP32 src_registers=[r1] dst_registers=[r2]
; RegisterAlu
ALU_OP               wait sem9>=3 upd sem4+=1 op=ADD dtype=INT32 src1_datasrc=IMMEDIATE dst_dtype=INT32 src0_lo=r1 dst_lo=r2 immediate=12
; RegisterAlu of 64 bits
ALU_OP               wait sem9>=3 upd sem4+=1 op=SUBTRACT dtype=UINT64 src1_lo=r1 dst_lo=r2
; TensorLoad
PSEUDO_TENSOR_LOAD   wait sem9>=3 upd sem4+=1 dtype=INT32 num_elem0=1 num_elem1=1 var_id=1 var_offset=12 step_elem0=1 step_elem1=1
; TensorLoad through a register
TENSOR_LOAD          wait sem9>=3 upd sem4+=1 dtype=INT32 num_elem0=1 num_elem1=1 step_elem0=1 step_elem1=1 data_reg_lo=r1
; TensorSave
PSEUDO_TENSOR_STORE  wait sem9>=3 upd sem4+=1 dtype=INT32 num_elem0=1 num_elem1=1 var_id=1 var_offset=12 step_elem0=1 step_elem1=1
; SwitchQueueInstance
PSEUDO_DMASWAP_QUEUE_SET wait sem9>=3 upd sem4+=1 instance_name="second" no_rearm=1
; ResetQueueInstance
PSEUDO_DMAREARM      wait sem9>=3 upd sem4+=1 queue_name="second"
; GetCurProcessingRankID
PSEUDO_CUR_PROCESSING_RANK_ID wait sem9>=3 upd sem4+=1 channel_id=3 iteration_id=2 dst_reg=r1 stream_id=1
; GetGlobalRankId
PSEUDO_GID_LOAD      wait sem9>=3 upd sem4+=1 dst_reg=r1
; TensorCompletion
PSEUDO_TENSOR_COMPLETION wait sem9>=3 upd sem4+=1 tensor_id=1
; InlineASMBytes
NOP                  wait sem9>=3 upd sem4+=1
