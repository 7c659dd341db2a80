//! Keys that only older documents have, rewritten to their successors. spec: opcodes 10

use bir::enums::{AluOpType, CollectiveKind, InstructionType};
use bir::expr::MaybeAffine;
use bir::ids::Ref;
use bir::records::CcChannel;
use bir::{Extra, Op, OpenEnum, Value};

use super::expr::is_expr_kind;
use super::{OddityKind, Reader};
use crate::error::Result;
use crate::generated::LEGACY_KEYS;

/// Whether the key belongs to an older form of the op.
pub(super) fn is_legacy_key(opcode: InstructionType, key: &str) -> bool {
    opcode.name().is_ok_and(|opcode| LEGACY_KEYS.contains(&(opcode, key)))
}

impl Reader<'_> {
    /// Moves older keys that were read as unknown members to where they belong now. What does not fit stays.
    pub(super) fn adopt_legacy_keys(&mut self, op: &mut Op, extra: &mut Extra) -> Result<()> {
        if extra.is_empty() {
            return Ok(());
        }
        match op {
            Op::MatmultBase(op) => adopt_tensor_calc(&mut op.accumulation_flag, extra),
            Op::Matmult(op) => adopt_tensor_calc(&mut op.accumulation_flag, extra),
            Op::MatmultSparse(op) => adopt_tensor_calc(&mut op.accumulation_flag, extra),
            Op::MatmultMx(op) => adopt_tensor_calc(&mut op.accumulation_flag, extra),
            Op::CollectiveCompute(op) => self.adopt_channel(&mut op.cc_channel, extra)?,
            Op::SwitchQueueInstance(op) => {
                let name = extra.members().get("instance_name").and_then(Value::as_str).map(str::to_owned);
                if let (None, Some(name)) = (op.instance, name) {
                    extra.remove("instance_name");
                    op.instance = Some(Ref::named(self.intern(&name)?));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn adopt_channel(&mut self, channel: &mut Option<Box<CcChannel>>, extra: &mut Extra) -> Result<()> {
        // A nested record has its own kind; only an expression leaves that to the older keys.
        let is_nested = channel.is_some() && !self.channel_is_expr;
        let members = extra.members();
        if is_nested || !["kind", "op", "replica_groups"].iter().any(|key| members.get(key).is_some()) {
            return Ok(());
        }
        let mut adopted = channel.take().unwrap_or_default();
        let text = |key| members.get(key).and_then(Value::as_str).map(str::to_owned);
        let (kind, op) = (text("kind"), text("op"));
        let groups = members.get("replica_groups").and_then(rank_groups);
        if let Some(kind) = kind {
            extra.remove("kind");
            adopted.kind = CollectiveKind::parse_or_other(&kind, &mut self.module.names);
        }
        if let Some(op) = op {
            extra.remove("op");
            adopted.op = AluOpType::parse_or_other(&op, &mut self.module.names);
        }
        if let Some(groups) = groups {
            extra.remove("replica_groups");
            adopted.replica_groups = groups;
        }
        *channel = Some(adopted);
        Ok(())
    }

    /// The nested record, or the expression that older documents have under its key.
    pub(crate) fn cc_channel(&mut self) -> Result<Box<CcChannel>> {
        if self.lexer.peek() != b'{' {
            return self.lexer.wrong_type("an object: a collective channel");
        }
        let at = self.lexer.pos();
        let value = self.value()?;
        let end = self.lexer.pos();
        self.lexer.seek(at);
        let is_expr = match value.get("kind").and_then(Value::as_str) {
            Some(kind) => is_expr_kind(kind),
            None => value.get("terms").is_some(),
        };
        self.channel_is_expr = is_expr;
        if !is_expr {
            return self.get();
        }
        let id = self.expr("an expression")?;
        self.lexer.seek(end);
        self.oddity(OddityKind::LegacyForm, at, || "an expression for a collective channel".into());
        let mut channel = CcChannel { channel_id: MaybeAffine::Expr(id), ..CcChannel::default() };
        channel.present.set(CcChannel::CHANNEL_ID);
        Ok(Box::new(channel))
    }
}

/// Two booleans stood for the flags: bit 0 start, bit 1 stop, and bit 2 accumulate where the first is false,
/// because the old form could not overwrite. spec: opcodes.toml, legacy_key
fn adopt_tensor_calc(flag: &mut MaybeAffine<u8>, extra: &mut Extra) {
    let get = |key| match extra.members().get(key) {
        Some(Value::Bool(value)) => Some(*value),
        _ => None,
    };
    let (start, stop) = (get("start_tensor_calc"), get("stop_tensor_calc"));
    if *flag != 0 || start.is_none() && stop.is_none() {
        return;
    }
    let start_bits = start.map_or(0, |start| if start { 1 } else { 4 });
    *flag = MaybeAffine::Value(start_bits | u8::from(stop == Some(true)) << 1);
    for (key, value) in [("start_tensor_calc", start), ("stop_tensor_calc", stop)] {
        if value.is_some() {
            extra.remove(key);
        }
    }
}

fn rank_groups(value: &Value) -> Option<Vec<Vec<u32>>> {
    let rank = |value: &Value| u32::try_from(value.as_i64()?).ok();
    let group = |value: &Value| value.as_list()?.iter().map(rank).collect();
    value.as_list()?.iter().map(group).collect()
}
