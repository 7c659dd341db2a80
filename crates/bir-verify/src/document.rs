//! What was odd about a document, as findings: members of a wrong type, unresolved names, unknown loop axes.

use bir::Module;
use bir::diag::{Diagnostic, Place, Severity, Vendor};
use bir::ids::{Id, InstId};
use bir_json::{Oddities, OddityKind, Positions};

use crate::generated::names::names_of;
use crate::ids::{DOC_01, MEM_04, MOD_04, MOD_05};
use crate::options::Options;
use crate::rule::RuleId;
use crate::twice::{hint, quoted};

/// The rule that an oddity breaks, and the severity when that is not the rule's.
fn rule_of(kind: OddityKind) -> Option<(RuleId, Option<Severity>)> {
    Some(match kind {
        OddityKind::MisplacedNull => (DOC_01, None),
        OddityKind::Misfit => (DOC_01, Some(Severity::Warning)),
        OddityKind::UnknownName => (MOD_04, None),
        OddityKind::Unresolved => (MOD_05, None),
        OddityKind::BadAlias => (MEM_04, None),
        OddityKind::NameCollision => (MOD_05, Some(Severity::Note)),
        OddityKind::MissingKey | OddityKind::UnknownMember | OddityKind::DuplicateKey => {
            (DOC_01, Some(Severity::Note))
        }
        _ => return None,
    })
}

pub(crate) fn findings(
    module: &Module,
    positions: &Positions,
    oddities: &Oddities,
    options: &Options,
) -> Vec<Diagnostic> {
    let mut starts: Vec<(usize, InstId)> = Vec::new();
    let mut found = Vec::new();
    for oddity in oddities.iter() {
        let Some((rule, severity)) = rule_of(oddity.kind).filter(|(rule, _)| options.is_on(*rule)) else {
            continue;
        };
        if starts.is_empty() {
            starts = module.inst_ids().filter_map(|id| Some((positions.inst(id)?, id))).collect();
            starts.sort_unstable_by_key(|(at, id)| (*at, id.index()));
        }
        let place = match starts.partition_point(|(at, _)| *at <= oddity.offset).checked_sub(1) {
            Some(at) => Place::of(starts[at].1),
            None => Place::module(),
        };
        let info = rule.info();
        let of_rule = info.severity(options.strict);
        let severity = severity.map_or(of_rule, |severity| severity.min(of_rule));
        let mut message = oddity.message.clone();
        let ty = match oddity.kind {
            OddityKind::MisplacedNull => type_of_key(module, place.inst(), &message),
            _ => None,
        };
        if let Some(ty) = ty {
            message = format!("{message}: type must be {ty}, but is null");
        }
        let vendor = vendor(oddity.kind, &oddity.message, ty, rule);
        let mut finding = Diagnostic::new(severity, info.id, place, message);
        finding.vendor = vendor.filter(|_| severity == of_rule);
        if oddity.kind == OddityKind::UnknownName
            && let Some((of, name)) = unknown_name(&oddity.message)
        {
            finding.help = hint(name, &names_of(of));
        }
        found.push(finding);
    }
    found
}

/// The enum and the name that a message of the reader is about.
fn unknown_name(message: &str) -> Option<(&str, &str)> {
    let (_, behind) = message.split_once(" of ")?;
    let (of, _) = behind.split_once(':')?;
    Some((of, quoted(message)?))
}

/// How the vendor's reader says it: a wording of its own for each kind of name.
fn vendor(kind: OddityKind, message: &str, ty: Option<&str>, rule: RuleId) -> Option<Vendor> {
    let (code, text): (&str, String) = match kind {
        OddityKind::UnknownName => match unknown_name(message)?.0 {
            "InstructionType" => (rule.info().vendor_code(), rule.info().diag.first()?.to_string()),
            "Dtype" => ("BIR023", "Unknown dtype string".into()),
            _ => return None,
        },
        OddityKind::Unresolved => {
            let name = quoted(message)?;
            let (own, what) = message.split_once(" (no ")?;
            let is = |kind: &str| what.starts_with(&format!("{kind} is called"));
            match () {
                () if is("instruction") => ("BIR014", format!("Instruction with name {name} not found")),
                () if is("register") => ("BIR016", format!("Register with name {name} not found")),
                () if is("memory location") => {
                    ("BIR036", format!("MemoryLocation with name {name} not found"))
                }
                () => ("", own.to_owned()),
            }
        }
        OddityKind::MisplacedNull => {
            let ty = ty.map_or(String::new(), |ty| format!(" type must be {ty}, but is null"));
            (rule.info().vendor_code(), format!("[json.exception.type_error.302]{ty}"))
        }
        _ => {
            let text = rule.info().diag.first().copied().unwrap_or_default();
            (rule.info().vendor_code(), text.to_owned())
        }
    };
    Some(Vendor { code: code.to_owned().into(), text: text.into() })
}

/// The type of the key that a message quotes, as the JSON library of the reference would call it.
fn type_of_key(module: &Module, inst: Option<InstId>, message: &str) -> Option<&'static str> {
    let key = message.split('`').nth(1)?;
    let op = module[inst?].op.fields();
    let spec = op.and_then(|op| op.specs().iter().find(|spec| spec.key == key));
    let ty = spec.map_or("", |spec| spec.ty);
    let ty = ty.strip_prefix("maybe_affine<").map_or(ty, |inner| inner.trim_end_matches('>'));
    Some(match ty {
        "bool" => "boolean",
        "string" => "string",
        _ if ty.starts_with("enum:") || ty.starts_with("name-ref:") => "string",
        _ if ty.starts_with("list<") || ty.starts_with('[') => "array",
        _ if ty.starts_with("record:") => "object",
        "" => match key {
            "engine_id" | "scheduled_start" | "scheduled_end" => "number",
            "name" | "engine" | "opcode" | "origin" => "string",
            _ => return None,
        },
        _ => "number",
    })
}
