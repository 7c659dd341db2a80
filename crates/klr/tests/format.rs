//! Facts of the format, one by one.

mod common;

use common::unhex;
use klr::ir::{
    APPair, Access, Address, BirAccessPattern, Dtype, ExtendedInst, Memory, Operator, Pos, ScalarOffset,
    Shape, Slice, TensorName, TensorRef,
};
use klr::node::{Float, Prop};
use klr::{Arena, Contents, ErrorKind, File, NoteKind, Options, Schema};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

const EXTENDED: ExtendedInst<'_> =
    ExtendedInst { opcode: 5, has_read: true, has_write: false, ports: 42, data0: &[1, 2], data1: &[3] };

#[test]
fn extended_inst_byte_by_byte() {
    // Kind 70 in memory, 69 on the wire; six fields; both lists (spec: klr 3.2).
    let operator = Operator::ExtendedInst(&EXTENDED);
    assert_eq!(operator.kind(), 70);
    assert_eq!(operator.wire(), 0x45);
    assert!(!operator.is_lowered());
    let wrapper = "D9DA4581";
    let record = "D9D2008605F5F4182A8201028103";
    assert_eq!(hex(&klr::encode(&EXTENDED)), record);
    assert_eq!(hex(&klr::encode(&operator)), format!("{wrapper}{record}"));
    let arena = Arena::new();
    let bytes = klr::encode(&operator);
    assert_eq!(klr::read::<Operator<'_>>(&bytes, &arena, &Options::new()).expect("it reads").value, operator);
    assert_eq!(
        klr::print::compat(&operator),
        "OperatorExtendedInstWrapper(op=ExtendedInst(opcode=5, hasRead=1, hasWrite=0, ports=42, data0=1, 2, data1=3))"
    );
    assert_eq!(
        klr::print::readable(&operator),
        "extendedInst(opcode = 5, hasRead = true, hasWrite = false, ports = 42, data0 = [1, 2], data1 = [3])\n"
    );
}

#[test]
fn worked_bytes() {
    // Spec: klr 3.2.
    assert_eq!(hex(&klr::encode(&Dtype::Float32)), "D96F0580");
    assert_eq!(hex(&klr::encode(&TensorRef::Reg(3))), "D980048103");
    let pos = Pos { line: 1, column: 2, line_end: Some(3), column_end: None, filename: None };
    assert_eq!(hex(&klr::encode(&pos)), "D96400850102D9FF018103D9FF0080D9FF0080");
    let file = File::new(Contents::call_site("x"));
    assert_eq!(hex(&klr::encode(&file)), "D9D9F78300000CD9EB0081634E4B49D9EC04816178");
}

#[test]
fn sixteen_operators_are_not_lowered() {
    let refused: Vec<u8> = (0..76u8)
        .filter(|wire| {
            // Any value of the constructor will do.
            let arena = Arena::new();
            let entry = klr::find_type("Operator").expect("the schema has operators");
            let bytes = klr::encode_tree(klr::made::any(entry, &[*wire], &arena));
            let value = klr::read::<Operator<'_>>(&bytes, &arena, &Options::new()).expect("it reads").value;
            assert_eq!(value.wire(), *wire);
            !value.is_lowered()
        })
        .map(|wire| wire + 1)
        .collect();
    assert_eq!(refused, [1, 4, 8, 11, 17, 18, 19, 21, 24, 27, 30, 43, 58, 62, 63, 70]);
}

fn tensor(name: &str) -> TensorName<'_> {
    TensorName {
        name,
        dtype: Dtype::Float32,
        shape: Shape { par_dim: 128, free_dims: &[64, 8] },
        address: Address {
            name: "sb",
            memory: Memory::Sbuf,
            par_size: 128,
            free_size: 2048,
            par_offset: Some(0),
            free_offset: Some(4096),
            is_shared: false,
        },
        free_elements: 512,
        par_wf: Prop,
        free_wf: Prop,
        address_rotation: false,
    }
}

#[test]
fn proofs_take_no_bytes() {
    // A TensorName announces eight fields and carries six (spec: klr 3).
    let bytes = klr::encode(&tensor("t"));
    assert_eq!(hex(&bytes[..6]), "D97200886174");
    assert_eq!(hex(&bytes[bytes.len() - 4..]), "190200F4");
    assert_eq!(hex(&klr::encode(&Slice { l: 0, u: 8, step: -1, wf: Prop })), "D9730084000820");
}

#[test]
fn numbers_take_64_bits_and_the_shortest_head() {
    for (value, bytes) in [
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (255, "18FF"),
        (256, "190100"),
        (65535, "19FFFF"),
        (65536, "1A00010000"),
        (u64::from(u32::MAX), "1AFFFFFFFF"),
        (1 << 32, "1B0000000100000000"),
        (u64::MAX, "1BFFFFFFFFFFFFFFFF"),
    ] {
        assert_eq!(hex(&klr::encode(&value)), bytes);
        let bytes = unhex(bytes);
        let arena = Arena::new();
        let read = klr::read::<u64>(&bytes, &arena, &Options::new()).expect("it reads");
        assert_eq!(read.value, value);
        let wide = value > u64::from(u32::MAX);
        assert_eq!(read.notes.iter().any(|note| note.kind == NoteKind::WideNat(value)), wide);
    }
    for (value, bytes) in [
        (-1i64, "20"),
        (-24, "37"),
        (-25, "3818"),
        (i64::MIN, "3B7FFFFFFFFFFFFFFF"),
        (i64::MAX, "1B7FFFFFFFFFFFFFFF"),
        (i64::from(i32::MAX) + 1, "1A80000000"),
    ] {
        assert_eq!(hex(&klr::encode(&value)), bytes);
        let bytes = unhex(bytes);
        let arena = Arena::new();
        let read = klr::read::<i64>(&bytes, &arena, &Options::new()).expect("it reads");
        assert_eq!(read.value, value);
        assert_eq!(!read.notes.is_empty(), i32::try_from(value).is_err());
    }
}

#[test]
fn floats_are_kept_by_their_bits() {
    for bits in
        [0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F80_0001, 0xFFFF_FFFF, 0x3DCC_CCCD, 1]
    {
        let value = Float { bits };
        let bytes = klr::encode(&value);
        let arena = Arena::new();
        assert_eq!(klr::read::<Float>(&bytes, &arena, &Options::new()).expect("it reads").value.bits, bits);
        let immediate = klr::ir::Immediate::Float32(value);
        let json = klr::json::to_string(&immediate);
        assert_eq!(klr::json::from_str(&json, &arena), Ok(immediate), "{json}");
    }
}

/// `count` dynamic accesses, each the offset of the next.
fn nested<'a>(count: usize, tensor: &'a TensorName<'a>, arena: &'a Arena) -> Access<'a> {
    let mut access = Access::Simple(tensor);
    for _ in 0..count {
        access = Access::BirPattern(arena.alloc(BirAccessPattern {
            tensor,
            offset: 0,
            pattern: &[APPair { step: 1, num: 1, offset: 0 }],
            scalar_offset: Some(ScalarOffset::Acc(access)),
            vector_offset: None,
            indirect_dim: 0,
            dtype_override: None,
        }));
    }
    access
}

#[test]
fn depth_has_a_limit_and_an_error() {
    let arena = Arena::new();
    let tensor = tensor("t");
    // An access and its scalar offset are two levels.
    let deepest = nested(499, &tensor, &arena);
    let bytes = klr::encode(&deepest);
    assert_eq!(klr::read::<Access<'_>>(&bytes, &arena, &Options::new()).expect("it reads").value, deepest);
    let json = klr::json::to_string(&deepest);
    assert_eq!(klr::json::from_str::<Access<'_>>(&json, &arena), Ok(deepest));
    assert!(klr::print::readable(&deepest).len() > 499 * 10);
    assert!(klr::print::compat(&deepest).len() > 499 * 10);

    // The open reader's stack overflows at some 20,000 of these.
    let deeper = nested(500, &tensor, &arena);
    let bytes = klr::encode(&deeper);
    let error = klr::read::<Access<'_>>(&bytes, &arena, &Options::new()).expect_err("it is too deep");
    assert_eq!(error.kind, ErrorKind::TooDeep { limit: 1000 });
    let json = klr::json::to_string(&deeper);
    let error = klr::json::from_str::<Access<'_>>(&json, &arena).expect_err("it is too deep");
    assert!(error.message.contains("nested more than 1000 deep"), "{error}");
}

#[test]
fn announced_lengths_take_no_memory() {
    // Each list claims as many elements as there are bytes left; only what the input can hold is set aside.
    let arena = Arena::new();
    let mut bytes = unhex("D9D2008605F5F400");
    bytes.extend(unhex("9AFFFFFFFF"));
    bytes.extend(std::iter::repeat_n(0, 1000));
    let error = klr::read::<ExtendedInst<'_>>(&bytes, &arena, &Options::new()).expect_err("the input ends");
    assert!(error.is_truncated());
    assert_eq!((error.offset, error.path.as_str()), (bytes.len(), "data0[1000]"));
    assert_eq!(error.reference.as_deref(), Some("expecting Nat"));

    // Tuples of tuples, each claiming all of the rest: 0.0.12 NKI expressions take at least 13 bytes.
    let mut bytes = Vec::new();
    for _ in 0..900 {
        bytes.extend(unhex("D9030082 D9040381 191000"));
    }
    let arena = Arena::new();
    let error =
        klr::read_type("NKI.Expr@0.0.12", &bytes, &arena, &Options::new()).expect_err("the input ends");
    assert!(error.offset <= bytes.len());
    assert!(arena.bytes() < 1 << 20, "{} bytes", arena.bytes());
}

#[test]
fn arity_decides_on_the_schema_of_each_record() {
    let arena = Arena::new();
    let copy = |head| klr::ir::NcDmaCopy {
        dst: TensorRef::Reg(1),
        src: TensorRef::Reg(2),
        compute_op: klr::ir::DgeComputeOp::None,
        oob_mode: klr::ir::DmaBounds::Skip,
        dge_mode: 0,
        unique_indices: true,
        head,
        engine: klr::ir::Engine::Unassigned,
    };
    let old = klr::encode(&copy(klr::node::Added(None)));
    let head = klr::encode(&copy(klr::node::Added(Some(klr::ir::NcDmaCopyHead { priority: Some(7) }))));
    assert_eq!(hex(&old[..4]), "D9990087");
    assert_eq!(hex(&head[..4]), "D9990088");
    // Inserted before the engine.
    assert_eq!(hex(&head[head.len() - 9..]), "D9FF018107D9820080");
    for (bytes, schema) in [(&old, Schema::V2_24), (&head, Schema::Head)] {
        let read = |options: &Options| klr::read::<klr::ir::NcDmaCopy<'_>>(bytes, &arena, options);
        assert_eq!(read(&Options::new()).expect("it reads").schema, klr::SchemaUse::Only(schema));
        assert!(read(&Options::new().schema(schema)).is_ok());
        let error = read(&Options::new().schema(schema.other())).expect_err("the other schema");
        assert!(matches!(error.kind, ErrorKind::WrongSchema { .. }), "{error}");
        assert!(read(&Options::new().schema(schema.other()).lenient(true)).is_ok());
    }
    let both = [
        copy(klr::node::Added(None)),
        copy(klr::node::Added(Some(klr::ir::NcDmaCopyHead { priority: None }))),
    ];
    let bytes = klr::encode(&&both[..]);
    let read = klr::read::<&[klr::ir::NcDmaCopy<'_>]>(&bytes, &arena, &Options::new()).expect("it reads");
    assert_eq!(read.schema, klr::SchemaUse::Mixed);
    assert_eq!(read.notes[0].kind, NoteKind::MixedSchemas);
    let json = klr::json::to_string(&both[1]);
    assert!(json.contains(r#""priority":null"#), "{json}");
    assert_eq!(klr::json::from_str(&json, &arena), Ok(both[1]));
}

#[test]
fn unknown_builds_are_kept_as_bytes_by_lenient_reading() {
    // An NKI kernel of 2025-07-13: tag 13, four fields (spec: klr 13.7).
    let bytes = unhex("D9D9F78300000CD9EB0081634B4C52D9EC0181D90D0084616B808080");
    let arena = Arena::new();
    let error = klr::read::<File<'_>>(&bytes, &arena, &Options::new()).expect_err("an unknown build");
    assert_eq!(error.kind, ErrorKind::UnknownContents { lo: 1, payload: Some((13, 4)) });
    let file = klr::read::<File<'_>>(&bytes, &arena, &Options::new().lenient(true)).expect("kept");
    assert_eq!(file.notes[0].kind, NoteKind::UnknownContents(1));
    assert_eq!(klr::encode(&file.value), bytes);
    let Contents::Unknown(unknown) = file.value.contents else { panic!("{:?}", file.value) };
    assert_eq!(klr::cbor::diagnostic(unknown.payload), "3328([\"k\", [], [], []])\n");
    let json = klr::json::to_string(&file.value);
    assert_eq!(klr::json::from_str(&json, &arena), Ok(file.value));
    assert!(klr::info::info(&file).to_string().contains("tag 13 with 4 fields"));
}

#[test]
fn call_sites_of_three_numberings_are_read() {
    for (lo, schema, notes) in [("02", "0.0.12", 0), ("03", "2025-07-22", 1), ("04", "head", 0)] {
        let bytes = unhex(&format!("D9D9F78300000CD9EB0081634B4C52D9EC{lo}816178"));
        let arena = Arena::new();
        let file = klr::read::<File<'_>>(&bytes, &arena, &Options::new()).expect("it reads");
        assert_eq!(file.value.contents.schema(), Some(schema));
        assert_eq!(file.notes.len(), notes);
        assert_eq!(klr::encode(&file.value), bytes);
        let json = klr::json::to_string(&file.value);
        assert_eq!(klr::encode(&klr::json::from_str::<File<'_>>(&json, &arena).expect("it reads")), bytes);
    }
}

#[test]
fn equal_tensors_are_read_once_and_noted_each_time() {
    // Wide numbers are noted at every place, though the bytes repeat.
    let mut wide = tensor("a tensor with a name of some length");
    wide.free_elements = 1 << 40;
    let list: Vec<TensorRef<'_>> = vec![TensorRef::Abstract(Access::Simple(&wide)); 3];
    let bytes = klr::encode(&&list[..]);
    let arena = Arena::new();
    let read = klr::read::<&[TensorRef<'_>]>(&bytes, &arena, &Options::new()).expect("it reads");
    assert_eq!(read.value, list);
    let paths: Vec<&str> = read
        .notes
        .iter()
        .filter(|note| matches!(note.kind, NoteKind::WideNat(_)))
        .map(|note| note.path.as_str())
        .collect();
    let path = |index| format!("[{index}].abstract.access.simple.tensor.freeElements");
    assert_eq!(paths, [path(0), path(1), path(2)]);

    let fits = tensor("another tensor with a name of some length");
    let list: Vec<TensorRef<'_>> = vec![TensorRef::Abstract(Access::Simple(&fits)); 3];
    let bytes = klr::encode(&&list[..]);
    let read = klr::read::<&[TensorRef<'_>]>(&bytes, &arena, &Options::new()).expect("it reads");
    assert_eq!(read.value, list);
    let address = |at: usize| match read.value[at] {
        TensorRef::Abstract(Access::Simple(tensor)) => std::ptr::from_ref(tensor),
        _ => panic!("not what was written"),
    };
    assert_eq!(address(0), address(2));
}

#[test]
fn long_kernels_read_back() {
    let mut bytes = Vec::new();
    let written = klr::made::write_kernel(2500, 7, &mut bytes).expect("memory can be written");
    assert_eq!(written, bytes.len() as u64);
    let arena = Arena::new();
    let file =
        klr::read::<File<'_>>(&bytes, &arena, &Options::new().schema(Schema::V2_24)).expect("it reads");
    assert!(file.notes.is_empty(), "{:?}", file.notes);
    assert_eq!(klr::encode(&file.value), bytes);
    let mut written = b"before".to_vec();
    klr::encode_into(&file.value, &mut written);
    assert_eq!(written.strip_prefix(b"before"), Some(&bytes[..]));
    let info = klr::info::info(&file).kernel.expect("a kernel");
    assert_eq!((info.cores, info.blocks, info.statements), (1, 3, 2500));
}

#[test]
fn json_errors_have_a_place() {
    let arena = Arena::new();
    let error = |ty: &str, text: &str| match klr::json::from_str_type(ty, text, &arena) {
        Ok(value) => panic!("{value:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error("Shape", "{\"parDim\": 1,\n \"freeDims\": [1, -2]}"),
        "expected a natural number of at most 64 bits, at line 2 column 18 in freeDims[1]"
    );
    assert_eq!(
        error("Shape", "{\"parDim\": 1}"),
        "member \"freeDims\" is missing, at line 1 column 1 in freeDims"
    );
    assert_eq!(
        error("Shape", "{\"parDim\": 1, \"freeDims\": [], \"x\": 0}"),
        "unknown member \"x\", at line 1 column 31"
    );
    assert_eq!(
        error("Shape", "{\"parDim\": 1, \"parDim\": 1, \"freeDims\": []}"),
        "member \"parDim\" occurs twice, at line 1 column 15"
    );
    assert_eq!(error("Dtype", "\"float99\""), "Dtype has no constructor \"float99\", at line 1 column 1");
    assert_eq!(error("Dtype", "[1,"), "the text ends where a value is expected, at line 1 column 4");
    assert_eq!(error("Nothing", "1"), "the schema has no type \"Nothing\", at line 1 column 1");
    let shape = klr::json::from_str::<Shape<'_>>("{\"freeDims\": [4], \"parDim\": 2}", &arena);
    assert_eq!(shape, Ok(Shape { par_dim: 2, free_dims: &[4] }), "members may come in any order");
}

#[test]
fn values_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<File<'_>>();
    shared::<&dyn klr::Tree<'_>>();
    sent::<Arena>();
}
