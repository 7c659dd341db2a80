//! Walking and comparing the samples.
#![allow(missing_docs)]

use std::convert::Infallible;

use bir::edges::EdgeKind;
use bir::enums::{EngineType, InstructionType};
use bir::expr::Expr;
use bir::ids::{BlockId, ExprId, FuncId, InstId, LocId, QueueId, SetId};
use bir::op_info::OpInfo;
use bir::sample::{Tiles, matmul_softmax, pre_lowering};
use bir::visit::{InstRef, Step, Visitor};
use bir::{Argument, Difference, Instruction, Module, Op, OpenEnum, OperandList, Value, same};

/// Notes what is visited, in order.
#[derive(Default)]
struct Log(Vec<String>);

impl Log {
    fn note(&mut self, text: String) -> Step<Infallible> {
        self.0.push(text);
        Step::Continue(())
    }
}

impl Visitor for Log {
    type Break = Infallible;

    fn enter_function(&mut self, m: &Module, id: FuncId) -> Step<Infallible> {
        self.note(format!("function {}", m.str(m[id].name)))
    }
    fn leave_function(&mut self, _: &Module, _: FuncId) -> Step<Infallible> {
        self.note("end of function".into())
    }
    fn enter_block(&mut self, m: &Module, id: BlockId) -> Step<Infallible> {
        self.note(format!("block {}", m.str(m[id].name)))
    }
    fn leave_block(&mut self, _: &Module, _: BlockId) -> Step<Infallible> {
        self.note("end of block".into())
    }
    fn leave_body(&mut self, inst: InstRef<'_>) -> Step<Infallible> {
        self.note(format!("end of {}", inst.name()))
    }
    fn visit_set(&mut self, m: &Module, id: SetId) -> Step<Infallible> {
        self.note(m.str(m[id].name).into())
    }
    fn visit_location(&mut self, m: &Module, id: LocId) -> Step<Infallible> {
        self.note(m.str(m[id].name).into())
    }
    fn visit_dma(&mut self, inst: InstRef<'_>) -> Step<Infallible> {
        self.note(format!("dma {}", inst.name()))
    }
    fn visit_inst(&mut self, inst: InstRef<'_>) -> Step<Infallible> {
        self.note(inst.name().into())
    }
    fn visit_operand(
        &mut self,
        _: InstRef<'_>,
        list: OperandList,
        index: usize,
        _: &Argument,
    ) -> Step<Infallible> {
        self.note(format!("{}[{index}]", list.key()))
    }
    fn visit_expr(&mut self, _: InstRef<'_>, _: ExprId, expr: &Expr) -> Step<Infallible> {
        self.note(expr.kind().into())
    }
}

#[test]
fn a_walk_is_in_document_order() {
    let mut log = Log::default();
    let Step::Continue(()) = log.walk(&pre_lowering());
    let affine = ["AffExprKind", "AffIVKind", "AffExprKind"];
    let rotating = ["AffExprKind", "MultKind", "ModuloKind", "AffExprKind", "AffIVKind"];
    let mut expected = vec!["function main", "x_set", "x", "y_set", "y", "buffers_set", "buffers"];
    expected.extend(["block Block1", "tiles", "block tiles_body"]);
    expected.extend(["dma load", "ins[0]", "outs[0]"].into_iter().chain(affine).chain(rotating));
    expected.extend(["dma save", "ins[0]", "outs[0]"].into_iter().chain(rotating).chain(affine));
    expected.extend(["end of block", "end of tiles", "rest"]);
    expected.extend(["AffExprKind", "AffExprKind", "IntRuntimeValueKind", "AffExprKind"]);
    expected.extend(["block rest_body", "tick"].into_iter().chain(affine));
    expected.extend(["end of block", "end of rest", "end of block", "end of function"]);
    assert_eq!(log.0, expected);
}

/// Every op, alone, reaches the method of each of its base classes.
#[test]
fn every_op_falls_to_its_base_class() {
    #[derive(Default)]
    struct Bases(Vec<InstructionType>);
    macro_rules! bases {
        ($($method:ident $base:ident -> $next:ident;)*) => {
            impl Visitor for Bases {
                type Break = ();
                $(
                    fn $method(&mut self, inst: InstRef<'_>) -> Step<()> {
                        self.0.push(InstructionType::$base);
                        self.$next(inst)
                    }
                )*
                fn visit_inst(&mut self, _: InstRef<'_>) -> Step<()> {
                    Step::Break(())
                }
            }
        };
    }
    bases! {
        visit_generic Generic -> visit_inst;
        visit_event_semaphore EventSemaphore -> visit_generic;
        visit_matmult_base MatmultBase -> visit_inst;
        visit_dma DMA -> visit_inst;
        visit_load Load -> visit_dma;
        visit_indirect_load IndirectLoad -> visit_dma;
        visit_collective Collective -> visit_inst;
        visit_dma_descriptor DMADescriptor -> visit_inst;
        visit_terminator Terminator -> visit_inst;
    }
    for opcode in InstructionType::ALL {
        let mut module = Module::default();
        let mut b = bir::builder::Builder::new(&mut module, "main");
        let id = b.plain_inst("i", EngineType::SP, *opcode).id();
        let mut bases = Bases::default();
        assert_eq!(bases.dispatch(InstRef { module: &module, id }), Step::Break(()));
        let mut chain = Vec::new();
        let mut next = Some(*opcode);
        while let Some(op) = next {
            chain.push(op);
            next = OpInfo::of(op).unwrap().parent;
        }
        chain.retain(|op| *op != *opcode || bases.0.contains(op));
        assert_eq!(bases.0, chain, "{opcode:?}");
    }
}

#[test]
fn a_walk_ends_with_its_answer() {
    struct Find;
    impl Visitor for Find {
        type Break = InstId;
        fn visit_reciprocal(&mut self, inst: InstRef<'_>) -> Step<InstId> {
            Step::Break(inst.id)
        }
        fn leave_queue(&mut self, _: &Module, _: QueueId) -> Step<InstId> {
            panic!("the walk has ended")
        }
    }
    let module = matmul_softmax(&Tiles::default());
    let Step::Break(id) = Find.walk(&module) else { panic!("there is one") };
    assert_eq!(module.str(module[id].name), "scale0");
}

fn difference(change: impl FnOnce(&mut Module, InstId)) -> Difference {
    let sample = matmul_softmax(&Tiles::default());
    let mut other = sample.clone();
    assert_eq!(same(&sample, &other), Ok(()));
    let exp = other.insts().find(|id| matches!(other[*id].op, Op::Activation(_))).unwrap();
    change(&mut other, exp);
    let found = same(&sample, &other).expect_err("there is a difference");
    let back = same(&other, &sample).expect_err("there is a difference");
    assert_eq!((&found.field, &found.left, &found.right), (&back.field, &back.right, &back.left));
    found
}

#[test]
fn a_difference_names_place_and_field() {
    let place = "matmul_softmax / Block1 / exp0_0#13";
    let of_inst = |change: &dyn Fn(&mut Instruction)| {
        let found = difference(|m, id| change(&mut m[id]));
        assert_eq!(found.place, place);
        format!("{}: {} {}", found.field, found.left, found.right)
    };
    assert_eq!(of_inst(&|inst| inst.engine_id = 3), "engine_id: 0 3");
    let op = of_inst(&|inst| {
        let Op::Activation(op) = &mut inst.op else { unreachable!() };
        op.alpha = 0.5;
    });
    assert_eq!(op, "alpha: 0.0 0.5");
    let operand = of_inst(&|inst| {
        let Argument::PhysicalAp(arg) = &mut inst.outs[0] else { unreachable!() };
        arg.ap = Some([(512, 128), (1, 511)].into());
    });
    assert_eq!(operand, "outs[0].ap[1][1]: 512 511");
    let wait = of_inst(&|inst| inst.sync_info.as_mut().unwrap().on_wait[0].wait_value = Some(9));
    assert!(wait.starts_with("sync_info.on_wait[0].wait_value: "), "{wait}");
    assert_eq!(of_inst(&|inst| inst.debug.as_mut().unwrap().lineno = None), "debug.lineno: Some(13) None");
    let member = of_inst(&|inst| inst.rare_mut().extra.insert("k", Value::Null));
    assert_eq!(member, "k: absent present");
}

#[test]
fn references_and_edges_are_compared_by_place() {
    let edge = difference(|m, id| {
        let on = m.insts().next().unwrap();
        m.depend(id, on, EdgeKind::ORDERED).unwrap();
    });
    assert_eq!(edge.field, "dependencies");
    let location = difference(|m, id| {
        let Argument::PhysicalAp(arg) = &mut m[id].outs[0].clone() else { unreachable!() };
        let other = m.locations_of(m.main().unwrap()).next().unwrap();
        arg.memref = Some(other.into());
        m[id].outs[0] = Argument::PhysicalAp(arg.clone());
    });
    assert_eq!((&*location.field, &*location.right), ("outs[0].memref", "\"x\" (number 0)"));
    let order = difference(|m, id| {
        let block = m[id].block;
        m.move_inst(id, block, 0);
    });
    assert_eq!(order.field, "name");
}
