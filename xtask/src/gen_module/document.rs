//! The document: root, allocations, blocks and queues as compact JSON with sorted keys (spec: bir-json 3 to 8, 15).

use std::io;

use super::kernel::{Body, DmaForm, QUEUE_LIST, Transfer};
use super::memory::{Machine, Memory, write_set};
use super::schedule::{Config, DmaBlock, Instruction, Kind, Planted, Program, REGISTERS, Sink, Survey, Wait};
use super::sync::{DMA_STEP, ENGINES, Engine, Hazard, Name, QUEUE_SEMAPHORES, semaphore_id};
use super::text::Text;

/// Writes the module of `config` and gives the races in it.
pub(super) fn write(config: Config, text: &mut Text<'_>) -> io::Result<Vec<Planted>> {
    let machine = config.target.machine();
    let program = Program::new(config, &machine);
    let mut survey = Survey { used: vec![false; program.memory.locations.len()], loops: 0 };
    program.run(&mut survey)?;

    text.raw(r#"{"arch":""#);
    text.raw(machine.arch);
    text.raw(r#"","artifact_path":"","attributes":{"neuron_core_id":0,"pass_sequence_number":121,"#);
    text.raw(r#""previous_pass":"lower_sync"},"functions":[{"allocations":["#);
    let program = Program::new(config, &machine);
    allocations(&program.memory, &survey, text);
    text.raw(r#"],"attributes":["ready_for_codegen"],"blocks":["#);
    let planted = program.run(&mut Blocks { text, machine: &machine, first: true })?;
    text.raw(r#"],"name":"sg0000","origin":"Internal"}],"queues":["#);
    for (queue, record) in QUEUE_LIST.iter().enumerate() {
        text.raw(if queue == 0 { r#"{"blocks":["# } else { r#",{"blocks":["# });
        if record.triggered {
            text.raw(r#"{"instructions":["#);
            Program::new(config, &machine).run(&mut DmaBlocks { text, queue, first: true })?;
            text.raw(&format!(r#"],"name":"{}_i0","origin":"Internal"}}"#, record.name));
        }
        text.raw(&format!(
            r#"],"name":"{}","num_dma_engines":16,"origin":"Internal","semaphores":"#,
            record.name
        ));
        let first = ENGINES + queue * QUEUE_SEMAPHORES;
        text.nums((first..first + QUEUE_SEMAPHORES).map(semaphore_id));
        text.raw("}");
    }
    text.raw(r#"],"version":2}"#);
    text.raw("\n");
    Ok(planted)
}

fn allocations(memory: &Memory, survey: &Survey, text: &mut Text<'_>) {
    let used = memory.locations.iter().zip(&survey.used).filter(|(_, used)| **used).map(|(l, _)| l);
    text.list(used.enumerate(), |text, (id, location)| write_set(location, id, text));
    for register in 0..REGISTERS.min(survey.loops) {
        text.raw(&format!(r#",{{"Skind":"register","name":"r_trip_{register}","origin":"Internal"}}"#));
    }
}

/// Text of a name, without quotes.
pub(super) fn name_text(name: Name) -> String {
    match name {
        Name::Instruction(number) => format!("I-{number}"),
        Name::Carrier(number, k) => format!("I-{number}-wait-{k}"),
        Name::DmaBlock(number, k) => format!("I-{number}-blk{k}"),
        Name::Fence(block, part) => format!("Block{block}-{part}"),
        Name::EndWait(block, k) => format!("Block{block}-end-cb-wait-{k}"),
    }
}

fn name(text: &mut Text<'_>, name: Name) {
    text.raw("\"");
    bare_name(text, name);
    text.raw("\"");
}

/// The form of [`name_text`] without an allocation.
fn bare_name(text: &mut Text<'_>, name: Name) {
    let (number, middle, k) = match name {
        Name::Instruction(number) => (number, "", None),
        Name::Carrier(number, k) => (number, "-wait-", Some(k)),
        Name::DmaBlock(number, k) => (number, "-blk", Some(k)),
        Name::Fence(..) | Name::EndWait(..) => return text.raw(&name_text(name)),
    };
    text.raw("I-");
    text.num(number.into());
    text.raw(middle);
    if let Some(k) = k {
        text.num(k.into());
    }
}

/// Writes the blocks of the function.
struct Blocks<'a, 'w> {
    text: &'a mut Text<'w>,
    machine: &'a Machine,
    first: bool,
}

impl Sink for Blocks<'_, '_> {
    fn begin_block(&mut self, block: u32) {
        self.text.raw(if block == 0 { r#"{"instructions":["# } else { r#",{"instructions":["# });
        self.first = true;
    }

    fn instruction(&mut self, memory: &Memory, instruction: &Instruction<'_>) -> io::Result<()> {
        if !self.first {
            self.text.raw(",");
        }
        self.first = false;
        write_instruction(self.text, self.machine, memory, instruction);
        self.text.checkpoint()
    }

    fn end_block(&mut self, block: u32) {
        self.text.raw(&format!(r#"],"name":"Block{block}","origin":"Internal"}}"#));
    }
}

fn opcode(kind: &Kind<'_>) -> &'static str {
    match kind {
        Kind::Compute { body, .. } => match body {
            Body::Matmult { .. } => "Matmult",
            Body::Activation { .. } => "Activation",
            Body::TensorTensor { .. } => "TensorTensor",
            Body::TensorScalar { .. } => "TensorScalar",
            Body::TensorScalarPtr { .. } => "TensorScalarPtr",
            Body::TensorReduce { .. } => "TensorReduce",
            Body::Reciprocal => "Reciprocal",
            Body::TensorCopy => "TensorCopy",
            Body::Memset { .. } => "Memset",
            Body::NoOp => "NoOp",
        },
        Kind::Direct { form: DmaForm::Load, .. } => "Load",
        Kind::Direct { form: DmaForm::Save, .. } => "Save",
        Kind::Direct { .. } => "DMACopy",
        Kind::Trigger { .. } => "DMATrigger",
        Kind::Carrier => "EventSemaphore",
        Kind::Barrier => "AllEngineBarrier",
        Kind::Reset { .. } => "GroupResetSemaphores",
        Kind::Drain => "Drain",
        Kind::RegisterMove { .. } => "RegisterMove",
        Kind::Increment { .. } => "RegisterAlu",
        Kind::Branch { .. } => "UnconditionalBranch",
        Kind::Loop { .. } => "CompareAndBranch",
        Kind::Return => "Return",
    }
}

fn write_instruction(text: &mut Text<'_>, machine: &Machine, memory: &Memory, inst: &Instruction<'_>) {
    text.raw("{");
    keys_before_debug(text, &inst.kind);
    text.raw(r#""debug":{"lineno":"#);
    text.num(inst.line.into());
    text.raw(r#","op_name":""#);
    text.raw(inst.op_name);
    text.raw(r#""},"#);
    if !inst.dependencies.is_empty() {
        text.raw(r#""dependencies":["#);
        text.list(inst.dependencies, |text, (from, kind): &(Name, Hazard)| {
            text.raw("[");
            name(text, *from);
            text.raw(",\"");
            text.raw(kind.edge());
            text.raw("\"]");
        });
        text.raw("],");
    }
    keys_before_engine(text, machine, inst);
    text.raw(r#""engine":""#);
    text.raw(inst.engine.map_or("ALL", Engine::name));
    text.raw(r#"","engine_id":0,"#);
    keys_before_ins(text, &inst.kind);
    text.raw(r#""ins":["#);
    ins(text, memory, &inst.kind);
    text.raw("],");
    keys_before_name(text, &inst.kind);
    text.raw(r#""name":"#);
    name(text, inst.name);
    text.raw(",");
    keys_before_opcode(text, &inst.kind);
    text.raw(r#""opcode":""#);
    text.raw(opcode(&inst.kind));
    text.raw(r#"","optin_passes":[],"origin":"Internal","outs":["#);
    outs(text, memory, &inst.kind);
    text.raw("],");
    keys_before_schedule(text, &inst.kind);
    text.raw(r#""scheduled_end":"#);
    text.num(inst.end);
    text.raw(r#","scheduled_start":"#);
    text.num(inst.start);
    if let Kind::Reset { semaphores } = &inst.kind {
        text.raw(r#","sema_group":"#);
        text.nums(semaphores.iter().map(|s| semaphore_id(*s)));
    }
    sync_info(text, inst.waits, inst.update);
    keys_at_end(text, &inst.kind);
    text.raw("}");
}

fn sync_info(text: &mut Text<'_>, waits: &[Wait], update: Option<(usize, u32)>) {
    if waits.is_empty() && update.is_none() {
        return;
    }
    text.raw(r#","sync_info":{"#);
    if let Some((semaphore, value)) = update {
        text.raw(r#""on_update":[{"id":"#);
        text.num(semaphore_id(semaphore));
        text.raw(r#","update_value":"#);
        text.num(value.into());
        text.raw("}]");
    }
    if !waits.is_empty() {
        text.raw(if update.is_some() { r#","on_wait":["# } else { r#""on_wait":["# });
        text.list(waits, |text, wait| {
            text.raw(r#"{"from":"#);
            name(text, wait.from);
            text.raw(r#","id":"#);
            text.num(semaphore_id(wait.semaphore));
            text.raw(r#","wait_value":"#);
            text.num(wait.count.into());
            text.raw("}");
        });
        text.raw("]");
    }
    text.raw("}");
}

fn ins(text: &mut Text<'_>, memory: &Memory, kind: &Kind<'_>) {
    match kind {
        Kind::Compute { body, ins, .. } => {
            text.list(*ins, |text, operand| operand.write(memory, text, 0, 1));
            if let Body::Activation { scale, .. } = body {
                // Bias is an operand; scale and alpha follow as immediates (spec: opcodes 11).
                for value in [*scale, 0.0] {
                    text.raw(r#",{"dtype":"float32","kind":"imm_value","value":"#);
                    text.float(value);
                    text.raw("}");
                }
            }
        }
        Kind::Direct { transfer, .. } => transfer.source.write(memory, text, 0, 1),
        Kind::RegisterMove { .. } => text.raw(r#"{"dtype":"int32","kind":"imm_value","value":0}"#),
        Kind::Increment { register } => {
            register_operand(text, *register);
            text.raw(r#",{"dtype":"int32","kind":"imm_value","value":1}"#);
        }
        Kind::Loop { register, trips, .. } => {
            register_operand(text, *register);
            text.raw(r#",{"dtype":"int32","kind":"imm_value","value":"#);
            text.num((*trips).into());
            text.raw("}");
        }
        _ => {}
    }
}

fn outs(text: &mut Text<'_>, memory: &Memory, kind: &Kind<'_>) {
    match kind {
        Kind::Compute { out: Some(out), .. } => out.write(memory, text, 0, 1),
        Kind::Direct { transfer, .. } => transfer.destination.write(memory, text, 0, 1),
        Kind::RegisterMove { register } | Kind::Increment { register } => register_operand(text, *register),
        _ => {}
    }
}

fn register_operand(text: &mut Text<'_>, register: u32) {
    text.raw(r#"{"dtype":"int32","kind":"register_access","regref":"r_trip_"#);
    text.num(register.into());
    text.raw(r#""}"#);
}

fn keys_before_debug(text: &mut Text<'_>, kind: &Kind<'_>) {
    match kind {
        Kind::Compute { body: Body::Matmult { flag }, .. } => {
            text.raw(r#""accumulation_flag":"#);
            text.num((*flag).into());
            text.raw(",");
        }
        Kind::Compute { body: Body::Activation { .. }, .. } => text.raw(r#""acc":"Idle","alpha":0.0,"#),
        Kind::Compute { body: Body::TensorScalar { const0, const1, .. }, .. } => {
            text.raw(r#""const0":"#);
            text.float(*const0);
            text.raw(r#","const1":"#);
            text.float(*const1);
            text.raw(",");
        }
        Kind::Compute { body: Body::TensorReduce { .. }, .. } => text.raw(r#""axis":"X","#),
        Kind::Compute { body: Body::Memset { constant }, .. } => {
            text.raw(r#""constant":"#);
            text.num((*constant).into());
            text.raw(",");
        }
        Kind::Loop { .. } => text.raw(r#""comp_op":"IS_LTIMM","#),
        _ => {}
    }
}

fn keys_before_engine(text: &mut Text<'_>, machine: &Machine, inst: &Instruction<'_>) {
    match &inst.kind {
        // Descriptors come from the Pool's software, or from the hardware behind SP and Activation (rule DMA-04).
        Kind::Direct { .. } if inst.engine == Some(Engine::Pool) => text.raw(r#""dge_type":"SWDGE","#),
        Kind::Direct { .. } if machine.hardware_dge => text.raw(r#""dge_type":"HWDGE","#),
        Kind::Direct { .. } => text.raw(r#""dge_type":"None","#),
        Kind::Trigger { blocks, .. } => {
            text.raw(r#""dge_type":"None","dma_blocks":["#);
            text.list(*blocks, |text, block| name(text, block.name));
            text.raw(r#"],"dma_trigger_debug_update_semaphore_id":"#);
            text.num(semaphore_id(blocks[0].semaphore));
            text.raw(",");
        }
        _ => {}
    }
}

fn keys_before_ins(text: &mut Text<'_>, kind: &Kind<'_>) {
    match kind {
        Kind::Compute { body: Body::Activation { func, .. }, .. } => {
            text.raw(r#""func":""#);
            text.raw(func);
            text.raw(r#"","#);
        }
        Kind::Compute { body: Body::Matmult { .. }, .. } => text.raw(r#""ifmap_quant_offset":0,"#),
        _ => {}
    }
}

fn keys_before_name(text: &mut Text<'_>, kind: &Kind<'_>) {
    match kind {
        Kind::Compute { body: Body::Matmult { .. }, .. } => {
            text.raw(r#""is_fmap_onezero":false,"is_transpose":false,"is_weight_onezero":false,"#);
        }
        Kind::Compute { body: Body::Memset { .. }, .. } => text.raw(r#""mode":"Const","#),
        Kind::Direct { form: DmaForm::DmaCopy, .. } => text.raw(r#""mode":"Copy","#),
        Kind::Reset { .. } => text.raw(r#""mode":"SemaphoreZero","#),
        _ => {}
    }
}

fn keys_before_opcode(text: &mut Text<'_>, kind: &Kind<'_>) {
    let two = |text: &mut Text<'_>, op0: &str, op1: &str| {
        text.raw(r#""op0":""#);
        text.raw(op0);
        text.raw(r#"","op1":""#);
        text.raw(op1);
        text.raw(r#"","#);
    };
    let one = |text: &mut Text<'_>, op: &str| {
        text.raw(r#""op":""#);
        text.raw(op);
        text.raw(r#"","#);
    };
    match kind {
        Kind::Compute { body, .. } => match body {
            Body::Activation { .. } => two(text, "mult", "add"),
            Body::TensorScalar { op0, op1, .. } => two(text, op0, op1),
            Body::TensorScalarPtr { op0 } => two(text, op0, "bypass"),
            Body::TensorTensor { op } | Body::TensorReduce { op } => one(text, op),
            _ => {}
        },
        Kind::Increment { .. } => one(text, "add"),
        Kind::Loop { body, .. } => {
            text.raw(&format!(r#""on_false":"Block{}","on_true":"Block{body}","#, body + 1));
        }
        _ => {}
    }
}

fn keys_before_schedule(text: &mut Text<'_>, kind: &Kind<'_>) {
    match kind {
        Kind::Compute { body: Body::Matmult { .. }, .. } => {
            text.raw(r#""perf_mode":"None","psum_zero_region":0,"replication_num_rows":0,"#);
            text.raw(r#""replication_resolution":0,"replication_shift_amnt":0,"#);
        }
        Kind::Compute { body: Body::Activation { scale, .. }, .. } => {
            text.raw(r#""reduce_op":"bypass","scale":"#);
            text.float(*scale);
            text.raw(",");
        }
        Kind::Compute { body: Body::TensorScalar { .. } | Body::TensorScalarPtr { .. }, .. } => {
            text.raw(r#""reverse0":false,"reverse1":false,"#);
        }
        Kind::Direct { queue, .. } | Kind::Trigger { queue, .. } => {
            text.raw(r#""queue":""#);
            text.raw(QUEUE_LIST[*queue].name);
            text.raw(r#"","#);
        }
        _ => {}
    }
}

fn keys_at_end(text: &mut Text<'_>, kind: &Kind<'_>) {
    match kind {
        Kind::Compute { body: Body::Matmult { .. }, .. } => {
            text.raw(r#","tile_position":[-1,-1],"tile_size":[-1,-1],"weights_quant_offset":0"#);
        }
        Kind::Branch { target } => text.raw(&format!(r#","target":"Block{target}""#)),
        _ => {}
    }
}

/// Writes the DMABlocks of one queue.
struct DmaBlocks<'a, 'w> {
    text: &'a mut Text<'w>,
    queue: usize,
    first: bool,
}

impl Sink for DmaBlocks<'_, '_> {
    fn begin_block(&mut self, _block: u32) {}

    fn instruction(&mut self, memory: &Memory, instruction: &Instruction<'_>) -> io::Result<()> {
        let Kind::Trigger { queue, blocks } = &instruction.kind else { return Ok(()) };
        if *queue != self.queue {
            return Ok(());
        }
        for (id, block) in blocks.iter().enumerate() {
            if !self.first {
                self.text.raw(",");
            }
            self.first = false;
            write_dma_block(self.text, memory, instruction, id, block);
        }
        self.text.checkpoint()
    }

    fn end_block(&mut self, _block: u32) {}
}

fn write_dma_block(
    text: &mut Text<'_>,
    memory: &Memory,
    trigger: &Instruction<'_>,
    id: usize,
    block: &DmaBlock,
) {
    text.raw(r#"{"block_id":"#);
    text.num(id as u64);
    text.raw(r#","blocks":[{"instructions":["#);
    text.list(0..block.transfer.descriptors, |text, part| {
        write_descriptor(text, memory, block.name, &block.transfer, part);
    });
    text.raw(r#"],"name":""#);
    bare_name(text, block.name);
    text.raw(r#"_Block0","origin":"Internal"}],"debug":{"lineno":"#);
    text.num(trigger.line.into());
    text.raw(r#","op_name":""#);
    text.raw(trigger.op_name);
    text.raw(r#""},"dma_trigger":"#);
    name(text, trigger.name);
    text.raw(r#","engine":"DMA","engine_id":0,"ins":[],"name":"#);
    name(text, block.name);
    text.raw(r#","opcode":"DMABlock","optin_passes":[],"origin":"Internal","outs":[],"scheduled_end":"#);
    text.num(block.end);
    text.raw(r#","scheduled_start":"#);
    text.num(trigger.end);
    text.raw(r#","section_start":false"#);
    sync_info(text, &[], Some((block.semaphore, DMA_STEP)));
    text.raw("}");
}

fn write_descriptor(text: &mut Text<'_>, memory: &Memory, block: Name, transfer: &Transfer, part: u32) {
    text.raw(r#"{"engine":"DMA","engine_id":0,"ins":["#);
    transfer.source.write(memory, text, part, transfer.descriptors);
    text.raw(r#"],"name":""#);
    bare_name(text, block);
    text.raw("-desc");
    text.num(part.into());
    text.raw(r#"","opcode":"DMADescriptorCopy","optin_passes":[],"origin":"Internal","outs":["#);
    transfer.destination.write(memory, text, part, transfer.descriptors);
    text.raw(r#"],"scheduled_end":0,"scheduled_start":0}"#);
}
