//! The module that `bir demo` shows.

use bir::access::{AccessPattern, Shape};
use bir::enums::{ArchLevel, Dtype, EngineType, MemoryType, TensorClass, TensorKind};
use bir::ids::Ref;
use bir::records::{Block, Function, LoopAxis, MemoryLocation, MemoryLocationSet, PhysicalAp};
use bir::{Argument, Holder, Instruction, Module, Op, Storage};

/// Name of the sample, and of its file.
pub(crate) const NAME: &str = "add_tiles";

/// What the sample does.
pub(crate) const ABOUT: &str = "The sample adds two tensors, one tile at a time, in a loop of four.";

/// Makes the sample.
pub(crate) fn module() -> Module {
    let mut module = Module::new(ArchLevel::Gen3);
    let name = |module: &mut Module, text: &str| module.names.intern(text);
    let main = name(&mut module, "main");
    let function = module.add_func(Function { name: main, ..Function::default() });
    module.root.functions.push(function);

    let tile = |module: &mut Module, text: &str, addr: u64| {
        let set_name = name(module, &format!("{text}_set"));
        let set = module.add_set(MemoryLocationSet {
            name: set_name,
            kind: Some(TensorKind::Internal),
            tensor_class: TensorClass::NeuronSBTensor,
            dtype: Some(Dtype::Float32),
            tensor_shape: Shape::from([128, 512]),
            function,
            ..MemoryLocationSet::default()
        });
        let loc_name = name(module, text);
        let loc = module.add_loc(MemoryLocation {
            name: loc_name,
            r#type: MemoryType::SB,
            addr,
            dims: Some(Shape::from([128, 2048])),
            allocated: true,
            set,
            ..MemoryLocation::default()
        });
        module[set].memorylocations.push(loc);
        module[function].allocations.push(Storage::Set(set));
        Argument::PhysicalAp(PhysicalAp {
            ap: Some(AccessPattern::from([(512, 128), (1, 512)])),
            dtype: Some(Dtype::Float32),
            memref: Some(Ref::to(loc)),
            memsetref: Some(Ref::to(set)),
            ..PhysicalAp::default()
        })
    };
    let (a, b, sum) =
        (tile(&mut module, "a", 0), tile(&mut module, "b", 2048), tile(&mut module, "sum", 4096));

    let block_name = module.names.intern("Block1");
    let holder = Holder::Function(function);
    let outer = module.add_block(Block { name: block_name, holder, ..Block::default() });
    module[function].blocks.push(outer);
    let (loop_name, axis) = (module.names.intern("tiles"), module.names.intern("i"));
    let axis = LoopAxis { name: axis, ub: Some(4), stride: Some(1), ..LoopAxis::default() };
    let op = bir::ops::Loop { loop_axis: Some(Box::new(axis)), ..Default::default() };
    let body_owner = module.add_inst(Instruction::new(loop_name, outer, Op::Loop(Box::new(op))));
    module[outer].instructions.push(body_owner);

    let body_name = module.names.intern("Body");
    let holder = Holder::Inst(body_owner);
    let body = module.add_block(Block { name: body_name, holder, ..Block::default() });
    module[body_owner].body_mut().expect("a loop has a body").push(body);
    let add_name = module.names.intern("add");
    let mut add = Instruction::new(add_name, body, Op::new(bir::enums::InstructionType::TensorTensor));
    add.engine = EngineType::DVE;
    add.ins = vec![a, b];
    add.outs = vec![sum];
    let add = module.add_inst(add);
    module[body].instructions.push(add);
    module
}
