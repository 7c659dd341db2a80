//! Findings of the rules of words, for a verifier (spec: verify 9).

use bir::Module;
use bir::diag::{Diagnostic, Place};
use tpb_isa::check::{Fault, Finding, StreamChecker, word};
use tpb_isa::{Engine, Generation, StreamWord};

use crate::{EncodeError, NoEncoder, Options, Program, Reason, encode};

/// Makes the words of a module and checks them: lengths, domains of enums, reserved bits, ranges, the order of words, and
/// whether an engine has the opcode. What cannot be encoded is a finding as well.
///
/// # Errors
/// When the target has no encoder: the rules do not apply.
pub fn check(module: &Module, options: &Options) -> Result<Vec<Diagnostic>, NoEncoder> {
    let program = encode(module, options)?;
    Ok(check_program(&program))
}

/// The same for words that are there already.
pub fn check_program(program: &Program) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> =
        program.errors.iter().map(|error| not_encoded(error, program.generation)).collect();
    for stream in &program.streams {
        let mut checker = StreamChecker::default();
        let mut findings = Vec::new();
        let mut previous = None;
        for (index, bytes) in stream.words.iter().enumerate() {
            let each = StreamWord::new(*bytes, index as u64, program.generation, previous);
            checker.word(&each, &mut findings);
            word(&each, &mut findings);
            let place = place(stream.owners[index]);
            found.extend(wrong_engine(&each, stream.engine, program.generation, place));
            previous = Some(bytes.opcode());
        }
        checker.finish(&mut findings);
        for finding in findings {
            let owner =
                usize::try_from(finding.index).ok().and_then(|index| stream.owners.get(index).copied());
            found.push(odd_word(&finding, stream.engine, place(owner.flatten())));
        }
    }
    found
}

/// Ids of the rules that [`check`] checks.
pub fn rules(generation: Generation) -> [&'static str; 4] {
    ["WIRE-01", engine_rule(generation).0, format_rule(generation).0, "WIRE-08"]
}

fn place(owner: Option<bir::ids::InstId>) -> Place {
    owner.map_or_else(Place::module, Place::of)
}

/// The rule of valid formats of a generation, and the vendor's number of it.
fn format_rule(generation: Generation) -> (&'static str, &'static str) {
    match generation {
        Generation::V2 => ("WIRE-05", "999"),
        Generation::V3 => ("WIRE-06", "1000"),
        Generation::V4 | Generation::V5 => ("WIRE-07", "934"),
    }
}

/// The rule of engines of a generation, and the vendor's number of it.
fn engine_rule(generation: Generation) -> (&'static str, &'static str) {
    match generation {
        Generation::V2 => ("WIRE-02", "1083"),
        Generation::V3 => ("WIRE-03", "1084"),
        Generation::V4 | Generation::V5 => ("WIRE-04", "935"),
    }
}

fn not_encoded(error: &EncodeError, generation: Generation) -> Diagnostic {
    let (code, number) = format_rule(generation);
    let place = match error.operand {
        Some((list, index)) => Place::operand(error.inst, list, index),
        None => Place::of(error.inst),
    };
    let message = format!("no word can be made: {}", error.reason);
    match error.reason {
        // What is not known is no fault of the module.
        Reason::Unsupported(_) => Diagnostic::note(code, place, message),
        Reason::Abstract | Reason::Lowered(_) => Diagnostic::note(code, place, message)
            .help("check the words of a module that is ready for code generation"),
        _ => Diagnostic::error(code, place, message).vendor(number, "ISA check failed"),
    }
}

fn odd_word(finding: &Finding, engine: Engine, place: Place) -> Diagnostic {
    let (format, number) = format_rule(finding.generation);
    let (code, number, text) = match finding.fault {
        Fault::Length(_) | Fault::Tail(_) => ("WIRE-01", "", "Wrong instruction length"),
        Fault::Reserved(_) | Fault::Unknown(_) => ("WIRE-08", "", ""),
        _ => (format, number, "ISA check failed"),
    };
    Diagnostic::error(code, place, format!("{engine} {finding}")).vendor(number, text)
}

/// The vendor's masks are not known; the engines of the tables stand in for them, so this is a warning.
fn wrong_engine(
    word: &StreamWord,
    engine: Engine,
    generation: Generation,
    place: Place,
) -> Option<Diagnostic> {
    let row = word.binding().opcode?;
    let known: Vec<Engine> = row.engines.iter().filter_map(|name| Engine::from_name(name)).collect();
    if known.is_empty() || known.len() != row.engines.len() || known.contains(&engine) {
        return None;
    }
    let (code, number) = engine_rule(generation);
    let message = format!("{} is a word of {}, not of {engine}", row.name, row.engines.join(" or "));
    Some(Diagnostic::warning(code, place, message).vendor(number, "Instruction engine check failed"))
}
