//! Footprints of operands, against the formulas byte by byte (spec: bir-json 8.3, ordering 11.1).

use std::collections::BTreeSet;

use bir::enums::{ArchLevel, Dtype, IndirectDim, InstructionType, MemoryType, TensorKind};
use bir::expr::{Expr, MaybeAffine};
use bir::geometry::{
    Env, Footprint, Footprints, LoopAxes, Overlap, Progression, Space, Unknown, address_registers, transfers,
};
use bir::ids::{FuncId, Id, LocId, Ref, RegId, SetId};
use bir::operands::Access;
use bir::ops::{self, DMABlock, DMATrigger};
use bir::record::OwnedList;
use bir::records::*;
use bir::{AliasEdge, Argument, Holder, Instruction, Module, Op, OperandList, Sym};

/// Where a byte is: space, partition, byte (of PSUM from the first bank).
type Cell = (Space, i64, i64);

struct World {
    module: Module,
}

/// A location to be made.
#[derive(Clone, Copy, Debug)]
struct Place {
    memory: MemoryType,
    kind: TensorKind,
    addr: u64,
    base: u32,
    bank: i64,
    dims: [u64; 2],
    placed: bool,
}

const SB: Place = Place {
    memory: MemoryType::SB,
    kind: TensorKind::Internal,
    addr: 0,
    base: 0,
    bank: 0,
    dims: [128, 2048],
    placed: true,
};
const PSUM: Place = Place { memory: MemoryType::PSUM, ..SB };
const DRAM: Place = Place { memory: MemoryType::DRAM, dims: [64, 1024], ..SB };

impl World {
    fn new() -> World {
        World { module: Module::new(ArchLevel::Gen3) }
    }

    fn set(&mut self, name: &str, kind: TensorKind, shape: &[u64]) -> SetId {
        let name = self.module.names.intern(name);
        let set = MemoryLocationSet {
            name,
            kind: Some(kind),
            tensor_shape: shape.iter().copied().collect(),
            ..Default::default()
        };
        self.module.add_set(set)
    }

    fn location_in(&mut self, set: SetId, name: &str, place: Place) -> LocId {
        let name = self.module.names.intern(name);
        let mut location = MemoryLocation {
            name,
            r#type: place.memory,
            addr: place.addr,
            base: place.base,
            bank: place.bank,
            dims: Some(place.dims.into()),
            allocated: place.placed,
            set,
            ..Default::default()
        };
        location.present.set(MemoryLocation::ALLOCATED);
        let loc = self.module.add_loc(location);
        self.module[set].memorylocations.push(loc);
        loc
    }

    fn location(&mut self, name: &str, place: Place) -> LocId {
        let set = self.set(&format!("{name}_set"), place.kind, &[]);
        self.location_in(set, name, place)
    }

    fn alias(&mut self, one: LocId, other: LocId, kind: u8) {
        self.module[one].alias.push(AliasEdge { to: other, kind });
        self.module[other].alias.push(AliasEdge { to: one, kind });
    }

    fn footprint(&self, argument: &Argument) -> Footprint {
        self.footprint_in(argument, &Unknown)
    }

    fn footprint_in(&self, argument: &Argument, env: &dyn Env) -> Footprint {
        let mut all = Footprints::new(&self.module).operand(argument, env);
        assert_eq!(all.len(), 1);
        all.pop().unwrap()
    }
}

fn access(loc: LocId, offset: u64, dtype: Dtype, pairs: &[(i64, i64)]) -> PhysicalAp {
    let ap = pairs.iter().map(|&(step, num)| bir::access::ApPair { step, num }).collect();
    PhysicalAp { ap: Some(ap), offset, dtype: Some(dtype), memref: Some(loc.into()), ..Default::default() }
}

fn tile(loc: LocId, offset: u64, dtype: Dtype, pairs: &[(i64, i64)]) -> Argument {
    Argument::from(access(loc, offset, dtype, pairs))
}

/// The bytes that the pieces have.
fn cells(footprint: &Footprint) -> BTreeSet<Cell> {
    let mut cells = BTreeSet::new();
    for piece in &footprint.pieces {
        for run in piece.bytes.runs() {
            for partition in piece.partitions.iter() {
                cells.extend(run.clone().map(|byte| (footprint.space, i64::from(partition), byte)));
            }
        }
    }
    cells
}

fn elements(offset: i64, pairs: &[(i64, i64)]) -> BTreeSet<i64> {
    let mut all = BTreeSet::from([offset]);
    for &(step, num) in pairs {
        all = (0..num).flat_map(|k| all.iter().map(move |element| element + k * step)).collect();
    }
    all
}

/// The bytes of elements by the formula of bir-json 8.3, as far as within the partitions, and whether any element is
/// outside the location, or any byte outside the memory.
fn expected(space: Space, place: Place, size: i64, elements: &BTreeSet<i64>) -> (BTreeSet<Cell>, bool, bool) {
    let (mut cells, mut outside_location, mut outside_memory) = (BTreeSet::new(), false, false);
    let [rows, row_bytes] = place.dims.map(|dim| dim as i64);
    for element in elements {
        let addr = if place.placed { place.addr as i64 } else { 0 };
        let (partition, start, all, limit) = if place.memory == MemoryType::DRAM {
            (0, addr + element * size, rows * row_bytes / size, i64::MAX)
        } else {
            let pitch = row_bytes / size;
            let (base, bank) = if place.placed { (i64::from(place.base), place.bank.abs()) } else { (0, 0) };
            let bank = if place.memory == MemoryType::PSUM { bank * 2048 } else { 0 };
            let limit = match space {
                Space::Sb => 229_376,
                Space::Psum => 16_384,
                _ => i64::MAX,
            };
            (
                base + element.div_euclid(pitch),
                bank + addr + element.rem_euclid(pitch) * size,
                rows * pitch,
                limit,
            )
        };
        outside_location |= *element < 0 || *element >= all;
        outside_memory |= !(0..128).contains(&partition);
        if (0..128).contains(&partition) {
            outside_memory |= start < 0 || start + size > limit;
            cells.extend((start..start + size).map(|byte| (space, partition, byte)));
        }
    }
    (cells, outside_location, outside_memory)
}

struct XorShift(u64);

impl XorShift {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as i64
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as i64) as usize]
    }
}

#[test]
fn random_operands_agree_with_the_formula() {
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    let mut world = World::new();
    let mut places = Vec::new();
    for number in 0..24 {
        let memory = random.of(&[MemoryType::SB, MemoryType::PSUM, MemoryType::DRAM]);
        let place = Place {
            memory,
            kind: random.of(&[TensorKind::Internal, TensorKind::ExternalInput]),
            addr: 8 * random.below(8) as u64,
            base: random.of(&[0, 32, 64, 96]),
            bank: random.of(&[0, 1, -1, 7]),
            dims: [4 + random.below(30) as u64, 4 * (2 + random.below(12) as u64)],
            placed: random.below(5) != 0,
        };
        let loc = world.location(&format!("t{number}"), place);
        let space = match (place.placed, memory, place.kind) {
            (true, MemoryType::SB, _) => Space::Sb,
            (true, MemoryType::PSUM, _) => Space::Psum,
            (true, _, TensorKind::Internal) => Space::Dram,
            _ => Space::Location(loc),
        };
        places.push((place, loc, space));
    }

    let footprints = Footprints::new(&world.module);
    let (mut met, mut apart, mut outside) = (0, 0, 0);
    let mut last: Option<(Footprint, BTreeSet<Cell>)> = None;
    let mut at = 0;
    for _ in 0..40_000 {
        if random.below(3) == 0 {
            at = random.below(24) as usize;
        }
        let (place, loc, space) = places[at];
        let dtype = random.of(&[Dtype::Float32, Dtype::Bfloat16, Dtype::Uint8]);
        let size = i64::from(dtype.size_bytes().unwrap());
        let pitch = place.dims[1] as i64 / size;
        let mut pairs = Vec::new();
        let mut count = 1;
        for _ in 0..random.below(4) {
            let num = 1 + random.below(8);
            let step = random.of(&[pitch, 1, 2, random.0 as i64 % 13, pitch + 1, 2 * pitch, -1]);
            if count * num <= 64 {
                count *= num;
                pairs.push((step, num));
            }
        }
        let offset = random.below(3 * pitch);
        let footprint = &footprints.operand(&tile(loc, offset as u64, dtype, &pairs), &Unknown)[0];
        let (bytes, outside_location, outside_memory) =
            expected(space, place, size, &elements(offset, &pairs));
        let what = format!("{place:?} {dtype:?} {offset} {pairs:?}");
        assert!(footprint.exact, "{what}");
        assert_eq!(cells(footprint), bytes, "{what}");
        assert_eq!(footprint.outside_location, outside_location, "{what}");
        assert_eq!(footprint.outside_memory, outside_memory, "{what}");
        outside += i32::from(outside_location);

        if let Some((other, of_other)) = &last {
            let share = !bytes.is_disjoint(of_other);
            let answer = if share { Overlap::Yes } else { Overlap::No };
            assert_eq!((footprint.overlap(other), other.overlap(footprint)), (answer, answer), "{what}");
            if footprint.covers(other) {
                assert!(bytes.is_superset(of_other), "{what}");
            }
            (met, apart) = (met + i32::from(share), apart + i32::from(!share));
        }
        last = Some((footprint.clone(), bytes));
    }
    // All answers must be common, or the test says little.
    assert!(met > 4_000 && apart > 4_000 && outside > 4_000, "{met} {apart} {outside}");
}

#[test]
fn a_tile_across_banks_meets_both() {
    let mut world = World::new();
    let two_banks = world.location("acc", Place { bank: -1, dims: [64, 4096], ..PSUM });
    let second = world.location("next", Place { bank: 2, dims: [64, 2048], ..PSUM });
    let first = world.location("same", Place { bank: 1, dims: [64, 2048], ..PSUM });
    let all = world.footprint(&tile(two_banks, 0, Dtype::Float32, &[(1024, 64), (1, 1024)]));
    assert_eq!(
        (all.banks(), all.to_string().as_str()),
        (Some(1..3), "PSUM banks 1 to 2 [0..64) x bytes [0..4096)")
    );
    let upper = world.footprint(&tile(two_banks, 512, Dtype::Float32, &[(1024, 64), (1, 512)]));
    assert_eq!(
        (upper.banks(), upper.to_string().as_str()),
        (Some(2..3), "PSUM bank 2 [0..64) x bytes [0..2048)")
    );
    for (loc, meets) in [(first, Overlap::No), (second, Overlap::Yes)] {
        let other = world.footprint(&tile(loc, 0, Dtype::Float32, &[(512, 64), (1, 512)]));
        assert_eq!((all.overlap(&other), upper.overlap(&other)), (Overlap::Yes, meets));
        assert!(all.covers(&other) && !other.covers(&all));
    }
    let last = world.location("last", Place { bank: 7, dims: [64, 4096], ..PSUM });
    let past = world.footprint(&tile(last, 0, Dtype::Float32, &[(1024, 64), (1, 1024)]));
    assert!(past.outside_memory && !past.outside_location);
}

#[test]
fn rows_run_on_in_the_next_partition() {
    let mut world = World::new();
    let loc = world.location("x", Place { dims: [4, 64], ..SB });
    // 8 elements from column 12 of row 0: four stay, four are the first of row 1.
    let footprint = world.footprint(&tile(loc, 12, Dtype::Float32, &[(16, 1), (1, 8)]));
    assert_eq!(footprint.pieces.len(), 2);
    assert_eq!(footprint.to_string(), "SB[0..2) x bytes [0..64) in 2 pieces");
    let row = |row: u64| world.footprint(&tile(loc, row * 16, Dtype::Float32, &[(16, 1), (1, 12)]));
    assert_eq!((footprint.overlap(&row(0)), footprint.overlap(&row(1))), (Overlap::No, Overlap::Yes));
}

#[test]
fn spaces_of_device_memory() {
    let mut world = World::new();
    let whole = [(1, 1024)];
    let internal = world.location("a", Place { addr: 4096, ..DRAM });
    let behind = world.location("b", Place { addr: 8192, ..DRAM });
    let external = world.location("x", Place { kind: TensorKind::ExternalInput, addr: 4096, ..DRAM });
    let unplaced = world.location("u", Place { placed: false, addr: 4096, ..DRAM });
    let of = |loc, offset| world.footprint(&tile(loc, offset, Dtype::Float32, &whole));
    assert_eq!(of(internal, 0).overlap(&of(behind, 0)), Overlap::No);
    assert_eq!(of(internal, 1).overlap(&of(behind, 0)), Overlap::Yes, "one arena, absolute addresses");
    for own in [external, unplaced] {
        assert_eq!(of(internal, 0).overlap(&of(own, 0)), Overlap::No);
        assert_eq!(of(own, 0).overlap(&of(own, 0)), Overlap::Yes);
    }
    assert_eq!(of(external, 0).overlap(&of(unplaced, 0)), Overlap::No);
    assert_eq!(of(external, 0).display(&world.module).to_string(), "x bytes [4096..8192)");
    assert_eq!(of(unplaced, 0).display(&world.module).to_string(), "u bytes [0..4096)");
    assert_eq!(of(internal, 0).to_string(), "DRAM bytes [4096..8192)");
    let other_core = &Footprints::new(&world.module).on_core(1);
    let there = &other_core.operand(&tile(internal, 0, Dtype::Float32, &whole), &Unknown)[0];
    assert_eq!((there.core, there.overlap(&of(internal, 0))), (1, Overlap::No));
}

#[test]
fn aliases_share_one_space() {
    let mut world = World::new();
    let external = |addr| Place { kind: TensorKind::ExternalOutput, addr, ..DRAM };
    let (x, y) = (world.location("x", external(0)), world.location("y", external(512)));
    let (maybe, apart) = (world.location("m", external(0)), world.location("n", external(0)));
    let inner = world.location("inner", Place { addr: 4096, ..DRAM });
    let (bound, early) =
        (world.location("bound", external(0)), world.location("early", Place { addr: 0, ..DRAM }));
    world.alias(x, y, 3);
    world.alias(x, maybe, 1);
    world.alias(bound, inner, 3);
    let whole = |loc| world.footprint(&tile(loc, 0, Dtype::Float32, &[(1, 256)]));
    assert_eq!(whole(x).space, whole(y).space);
    // The class as a whole is uncertain as soon as one of its aliases is.
    assert_eq!(whole(x).overlap(&whole(maybe)), Overlap::May);
    assert_eq!(whole(x).overlap(&whole(x)), Overlap::Yes);
    assert_eq!(whole(x).overlap(&whole(apart)), Overlap::No);
    // An external tensor that aliases an Internal one lies where that one does.
    assert_eq!(whole(bound).overlap(&whole(inner)), Overlap::Yes);
    assert_eq!(whole(bound).overlap(&whole(early)), Overlap::No);
    let past = world.footprint(&tile(early, 1024, Dtype::Float32, &[(1, 256)]));
    assert_eq!((past.overlap(&whole(bound)), past.outside_location), (Overlap::Yes, false));

    // With two Internal ones at different addresses its place is not known.
    world.alias(bound, early, 3);
    let whole = |loc| world.footprint(&tile(loc, 0, Dtype::Float32, &[(1, 256)]));
    assert!(!whole(bound).exact);
    assert_eq!(whole(bound).bytes(), 0..4096 + 65_536);
    assert_eq!(whole(bound).overlap(&whole(inner)), Overlap::May);
    assert_eq!(whole(early).overlap(&whole(inner)), Overlap::No);
}

#[test]
fn certain_aliases_surely_overlap() {
    let mut world = World::new();
    let external = |addr| Place { kind: TensorKind::ExternalOutput, addr, ..DRAM };
    let (x, y, z) = (
        world.location("x", external(0)),
        world.location("y", external(512)),
        world.location("z", external(0)),
    );
    world.alias(y, z, 3);
    world.alias(x, y, 3);
    let at = |loc, offset| world.footprint(&tile(loc, offset, Dtype::Float32, &[(1, 16)]));
    assert_eq!(at(x, 0).overlap(&at(z, 0)), Overlap::Yes, "aliases start at the same byte");
    assert_eq!(at(x, 0).overlap(&at(y, 16)), Overlap::No);
}

#[test]
fn registers_and_names_that_mean_nothing() {
    let mut world = World::new();
    let name = world.module.names.intern("r0");
    let [r0, r1] = [0, 1].map(|_| world.module.add_reg(Register { name, ..Default::default() }));
    let register =
        |reg: RegId| Argument::from(RegisterAccess { regref: Some(reg.into()), ..Default::default() });
    let (a, b) = (world.footprint(&register(r0)), world.footprint(&register(r1)));
    assert_eq!((a.overlap(&a), a.overlap(&b)), (Overlap::Yes, Overlap::No));
    assert_eq!(a.display(&world.module).to_string(), "register r0");

    let gone = world.module.names.intern("gone");
    let missing = PhysicalAp { memref: Some(Ref::named(gone)), ..Default::default() };
    let missing = world.footprint(&Argument::from(missing));
    assert_eq!(missing.space, Space::Missing(gone));
    assert_eq!(missing.overlap(&missing), Overlap::May);
    assert_eq!(missing.display(&world.module).to_string(), "within unresolved gone bytes from 0");
    let nothing = Footprints::new(&world.module);
    assert!(nothing.operand(&Argument::from(ImmValue::default()), &Unknown).is_empty());
}

#[test]
fn a_register_address_may_be_anywhere_in_the_tensor() {
    let mut world = World::new();
    let sb = world.location("s", Place { addr: 256, base: 32, dims: [16, 512], ..SB });
    let dram = world.location("d", Place { kind: TensorKind::ExternalInput, ..DRAM });
    let reg = world.module.add_reg(Register::default());
    let by_register = |loc: LocId| {
        let memsetref = Some(world.module[loc].set.into());
        let ap = Some([(1, 4)].into());
        let dtype = Some(Dtype::Float32);
        Argument::RegisterAp(Box::new(RegisterAp {
            ap,
            dtype,
            memsetref,
            regref: Some(reg.into()),
            ..Default::default()
        }))
    };
    let on_chip = world.footprint(&by_register(sb));
    assert_eq!(on_chip.to_string(), "within SB[32..48) x bytes [256..768)");
    let inside = world.footprint(&tile(sb, 3, Dtype::Float32, &[(128, 2), (1, 1)]));
    assert_eq!(on_chip.overlap(&inside), Overlap::May);
    assert!(!on_chip.covers(&inside));
    assert_eq!(world.footprint(&by_register(dram)).bytes(), 0..65_536);
    assert_eq!(address_registers(&world.module, &by_register(sb))[..], [reg.into()]);
}

#[test]
fn sets_without_one_location() {
    let mut world = World::new();
    let set = world.set("t", TensorKind::Internal, &[]);
    let parts: Vec<_> = (0..3)
        .map(|at| world.location_in(set, &format!("t{at}"), Place { addr: at * 64, dims: [4, 64], ..SB }))
        .collect();
    world.module[parts[1]].tensor_id = 7;
    let any = |sub_tensor| {
        let ap = Some([(16, 4), (1, 16)].into());
        RegisterAp {
            ap,
            dtype: Some(Dtype::Float32),
            memsetref: Some(set.into()),
            const_sub_tensor_id: sub_tensor,
            ..Default::default()
        }
    };
    let of = |arg: RegisterAp| {
        let all = Footprints::new(&world.module).operand(&Argument::RegisterAp(Box::new(arg)), &Unknown);
        all.iter().map(|footprint| footprint.location.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of(any(-1)), parts, "any of them");
    assert_eq!((of(any(7)), of(any(2))), (vec![parts[1]], vec![parts[2]]));
    let by_set = PhysicalAp {
        memref: None,
        memsetref: Some(set.into()),
        ..access(parts[0], 0, Dtype::Float32, &[(16, 4)])
    };
    let all = Footprints::new(&world.module).operand(&Argument::from(by_set), &Unknown);
    assert!(all.len() == 3 && all.iter().all(|footprint| !footprint.exact));

    let empty = world.set("empty", TensorKind::Internal, &[]);
    let in_empty = |offset| {
        let arg = access(parts[0], offset, Dtype::Float32, &[(1, 16)]);
        Argument::from(PhysicalAp { memref: None, memsetref: Some(empty.into()), ..arg })
    };
    let (low, high) = (world.footprint(&in_empty(0)), world.footprint(&in_empty(16)));
    assert_eq!((low.space, low.overlap(&high)), (Space::Set(empty), Overlap::No));
}

/// The example of bir-json 17.3: a rotating pair of buffers in the rows of a tile.
#[test]
fn symbolic_operands() {
    let mut world = World::new();
    let axis = world.module.names.intern("i0");
    let set = world.set("x_sb", TensorKind::Internal, &[128, 512]);
    world.location_in(set, "x_sb", SB);
    let exprs = &mut world.module.exprs;
    let zero = exprs.constant(0);
    let i = exprs.axis(axis, 1, 0);
    let numer = exprs.add(Expr::Modulo { numer: i, denom: 2 });
    let column = exprs.add(Expr::Mult { var: numer, scale: 256 });
    let half = |pairs: [(i64, i64); 2]| {
        Argument::SymbolicAp(Box::new(SymbolicAp {
            ap: Some(pairs.into()),
            dtype: Some(Dtype::Float32),
            memsetref: Some(set.into()),
            addrs: vec![zero, column],
            ..Default::default()
        }))
    };
    let rows = half([(512, 128), (1, 256)]);
    let at = |i| world.footprint_in(&rows, &move |name| (name == axis).then_some(i));
    assert_eq!(at(4).to_string(), "SB[0..128) x bytes [0..1024)");
    assert_eq!(at(5).to_string(), "SB[0..128) x bytes [1024..2048)");
    assert_eq!((at(4).overlap(&at(5)), at(4).overlap(&at(6))), (Overlap::No, Overlap::Yes));
    // Unknown: anywhere in the location. All iterations: any of the places.
    assert_eq!(world.footprint(&rows).to_string(), "within SB[0..128) x bytes [0..2048)");
    let all = world.footprint_in(&rows, &Loops(axis, 3));
    assert_eq!((all.exact, all.bytes()), (false, 0..2048));
    assert_eq!(all.overlap(&at(4)), Overlap::May);
    // A step that is no stride of the tensor leaves the unit of the coordinate open.
    let odd = half([(512, 128), (2, 128)]);
    assert!(!world.footprint_in(&odd, &|_| Some(1)).exact);
    assert!(world.footprint_in(&odd, &|_| Some(0)).exact);
}

struct Loops(Sym, u64);

impl Env for Loops {
    fn axis(&self, axis: Sym) -> Option<Progression> {
        (axis == self.0).then_some(Progression { first: 0, step: 1, count: self.1 })
    }
}

#[test]
fn gathers_reach_the_declared_rows() {
    let mut world = World::new();
    let table = world.location("table", Place { kind: TensorKind::ExternalInput, dims: [64, 128], ..DRAM });
    let arg_id = world.module.exprs.add(Expr::IndirectArg { arg_id: 0 });
    let gather = |rows, c| {
        let info = DynamicApInfo {
            actual_ap: Some([(32, 16), (1, 8)].into()),
            aff_expr: vec![DynamicApTerm { offset_expr: Some(arg_id), coef: Some(32), ..Default::default() }],
            c,
            indirect_dim: IndirectDim::W,
            indirect_dim_max_index: rows,
            ..Default::default()
        };
        let dynamic_ap_info = Some(Box::new(info));
        Argument::from(PhysicalAp {
            dynamic_ap_info,
            ..access(table, 0, Dtype::Float32, &[(32, 16), (1, 8)])
        })
    };
    let rows = world.footprint(&gather(20, 4));
    assert_eq!((rows.exact, rows.bytes()), (false, 16..16 + 19 * 128 + 32));
    // Columns that no row has are not touched.
    let at = |offset| world.footprint(&tile(table, offset, Dtype::Float32, &[(1, 4)]));
    assert_eq!(rows.overlap(&at(19 * 32 + 4)), Overlap::May);
    assert_eq!(rows.overlap(&at(19 * 32 + 12)), Overlap::No);
    assert_eq!(rows.overlap(&at(20 * 32 + 4)), Overlap::No);
    // Without the number of rows it may be any.
    assert_eq!(world.footprint(&gather(0, 4)).bytes(), 0..8192);

    // A scalar offset moves the whole pattern.
    let reg = world.module.add_reg(Register::default());
    let row = world.module.exprs.register(reg.into());
    let info = DynamicApInfo {
        actual_ap: Some([(32, 2), (1, 8)].into()),
        aff_expr: vec![DynamicApTerm { offset_expr: Some(row), coef: Some(32), ..Default::default() }],
        ..Default::default()
    };
    let arg = PhysicalAp { dynamic_ap_info: Some(Box::new(info)), ..access(table, 0, Dtype::Float32, &[]) };
    let scalar = Argument::from(arg);
    assert_eq!(world.footprint(&scalar).bytes(), 0..8192);
    assert_eq!(world.footprint_in(&scalar, &Held(reg, 3)).bytes(), 3 * 128..3 * 128 + 128 + 32);
    assert!(world.footprint_in(&scalar, &Held(reg, 3)).exact);
    assert_eq!(address_registers(&world.module, &scalar)[..], [reg.into()]);
}

struct Held(RegId, i64);

impl Env for Held {
    fn axis(&self, _: Sym) -> Option<Progression> {
        None
    }
    fn register(&self, register: Ref<RegId>) -> Option<Progression> {
        (register.id() == Some(self.0)).then(|| Progression::constant(self.1))
    }
}

#[test]
fn what_is_not_known_is_not_exact() {
    let mut world = World::new();
    let loc = world.location("x", Place { dims: [4, 64], ..SB });
    let full = access(loc, 0, Dtype::Float32, &[(16, 4), (1, 16)]);
    let unknown_type = PhysicalAp { dtype: Some(Dtype::Other(Sym::EMPTY)), ..full.clone() };
    let no_pattern = PhysicalAp { ap: None, ..full.clone() };
    for arg in [unknown_type, no_pattern] {
        let footprint = world.footprint(&Argument::from(arg));
        assert_eq!(footprint.to_string(), "within SB[0..4) x bytes [0..64)");
    }
    world.module[loc].dims = None;
    let footprint = world.footprint(&Argument::from(full.clone()));
    assert!(!footprint.exact && footprint.partitions().count() == 128);
    // A row that holds no element.
    world.module[loc].dims = Some([4, 2].into());
    assert!(!world.footprint(&Argument::from(full)).exact);
    // A count below one touches nothing.
    world.module[loc].dims = Some([4, 64].into());
    let nothing = world.footprint(&tile(loc, 0, Dtype::Float32, &[(16, -3), (1, 16)]));
    assert!(nothing.is_empty() && nothing.to_string() == "SB nothing");
}

#[test]
fn numbers_beyond_all_memories_are_survived() {
    let mut world = World::new();
    for (at, place) in [SB, PSUM, DRAM].into_iter().enumerate() {
        for dims in [[u64::MAX, u64::MAX], [1, u64::MAX], [u64::MAX, 4], [0, 0]] {
            for placed in [true, false] {
                let far = Place { addr: u64::MAX, base: u32::MAX, bank: i64::MIN, dims, placed, ..place };
                let loc = world.location(&format!("t{at}"), far);
                for pairs in
                    [&[(i64::MAX, i64::MAX), (i64::MIN, i64::MAX)][..], &[(i64::MIN, 2), (1, 0)], &[(1, 1)]]
                {
                    for offset in [0, 1 << 62, u64::MAX] {
                        let footprint = world.footprint(&tile(loc, offset, Dtype::Float32, pairs));
                        let _ = (
                            footprint.to_string(),
                            footprint.overlap(&footprint),
                            footprint.covers(&footprint),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn accesses_of_an_instruction() {
    let mut world = World::new();
    let sb = world.location("s", SB);
    let acc = world.location("p", Place { bank: 3, ..PSUM });
    let block = world.module.add_block(Block::default());
    let mut matmult = Instruction::new(Sym::EMPTY, block, Op::new(InstructionType::Matmult));
    matmult.ins = vec![
        tile(sb, 0, Dtype::Bfloat16, &[(1024, 128), (1, 512)]),
        tile(sb, 512, Dtype::Bfloat16, &[(1024, 128), (1, 128)]),
    ]
    .into();
    matmult.outs = vec![tile(acc, 0, Dtype::Float32, &[(512, 128), (1, 512)])].into();
    let footprints = Footprints::new(&world.module);
    let accesses: Vec<_> = footprints.accesses(&matmult, &Unknown).collect();
    let kinds: Vec<_> = accesses.iter().map(|a| (a.list, a.index, a.access)).collect();
    use OperandList::{Ins, Outs};
    assert_eq!(kinds, [(Ins, 0, Access::Read), (Ins, 1, Access::Read), (Outs, 0, Access::ReadWrite)]);
    assert_eq!(accesses[2].footprint.to_string(), "PSUM bank 3 [0..128) x bytes [0..2048)");
    assert_eq!(accesses[0].footprint.overlap(&accesses[1].footprint), Overlap::No);
    matmult.op = Op::Matmult(Box::new(ops::Matmult {
        accumulation_flag: MaybeAffine::Value(1),
        ..Default::default()
    }));
    assert_eq!(footprints.accesses(&matmult, &Unknown).last().unwrap().access, Access::Write);
}

#[test]
fn a_trigger_starts_the_descriptors_of_its_blocks() {
    let mut module = Module::new(ArchLevel::Gen3);
    let holder = Holder::Function(FuncId::new(0));
    let outer = module.add_block(Block { holder, ..Default::default() });
    let dma_block = |module: &mut Module, descriptors: usize| {
        let inner = module.add_block(Block::default());
        let op = DMABlock { blocks: OwnedList(vec![inner]), ..Default::default() };
        let block = module.add_inst(Instruction::new(Sym::EMPTY, outer, Op::DMABlock(Box::new(op))));
        module[inner].holder = Holder::Inst(block);
        for _ in 0..descriptors {
            let descriptor = Instruction::new(Sym::EMPTY, inner, Op::new(InstructionType::DMADescriptorCopy));
            let descriptor = module.add_inst(descriptor);
            module[inner].instructions.push(descriptor);
        }
        block
    };
    let (one, two) = (dma_block(&mut module, 1), dma_block(&mut module, 2));
    let gone = module.names.intern("gone");
    let op = DMATrigger { dma_blocks: vec![two.into(), Ref::named(gone), one.into()], ..Default::default() };
    let trigger = module.add_inst(Instruction::new(Sym::EMPTY, outer, Op::DMATrigger(Box::new(op))));
    let blocks: Vec<_> = transfers(&module, trigger).map(|(block, _)| block).collect();
    assert_eq!(blocks, [two, two, one]);
    assert_eq!(transfers(&module, one).count(), 0);
}

#[test]
fn axes_of_the_loops_around() {
    let mut module = Module::new(ArchLevel::Gen3);
    let [i, j, n] = ["i", "j", "n"].map(|name| module.names.intern(name));
    let outer = module.add_block(Block { holder: Holder::Function(FuncId::new(0)), ..Default::default() });
    let nest = |module: &mut Module, block, name, ub| {
        let axis = LoopAxis { name, lb: 2, ub: Some(ub), stride: Some(3), ..Default::default() };
        let op = ops::Loop { loop_axis: Some(Box::new(axis)), ..Default::default() };
        let owner = module.add_inst(Instruction::new(Sym::EMPTY, block, Op::Loop(Box::new(op))));
        module.add_block(Block { holder: Holder::Inst(owner), ..Default::default() })
    };
    let of_i = nest(&mut module, outer, i, 12);
    let of_j = nest(&mut module, of_i, j, 3);
    let inner = nest(&mut module, of_j, i, 6);
    let axes = LoopAxes::around(&module, inner);
    let values = |count| Some(Progression { first: 2, step: 3, count });
    assert_eq!(
        (axes.axis(i), axes.axis(j), axes.axis(n)),
        (values(2), values(1), None),
        "the innermost counts"
    );
    assert_eq!(LoopAxes::around(&module, of_i).axis(i), values(4));
}

#[test]
fn footprints_are_small() {
    assert!(size_of::<Footprint>() <= 224, "{}", size_of::<Footprint>());
}
