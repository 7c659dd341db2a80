//! What every rule can ask about the module as a whole.

use bir::NameOf;
use bir::enums::{ArchLevel, InstructionType};
use bir::geometry::Footprints;
use bir::ids::{Id, LocId, Ref, SetId, Target as RefTarget};
use bir::target::Target;
use bir::{Module, OpenEnum};

use crate::options::Options;
use crate::rule::RuleId;
use crate::survey::{Notes, Survey};

/// The module, its target, and what was asked for.
#[derive(Debug)]
pub(crate) struct Cx<'m> {
    pub(crate) module: &'m Module,
    pub(crate) target: &'static Target,
    /// Arch level: 10, 20, ...
    pub(crate) level: u32,
    pub(crate) options: &'m Options,
    pub(crate) footprints: Footprints<'m>,
    pub(crate) survey: Survey,
    pub(crate) notes: Notes,
    on: Vec<bool>,
}

impl<'m> Cx<'m> {
    pub(crate) fn new(module: &'m Module, options: &'m Options) -> Cx<'m> {
        let target = Target::of_module(module);
        let arch = module.root.arch.filter(|arch| arch.is_known()).unwrap_or(target.arch);
        let level = level(arch);
        let on = RuleId::all().map(|rule| options.is_on(rule) && rule.info().arch_min <= level).collect();
        Cx {
            module,
            target,
            level,
            options,
            footprints: Footprints::new(module),
            survey: Survey::of(module),
            notes: Notes::new(module),
            on,
        }
    }

    /// Whether a rule is to be checked.
    pub(crate) fn is_on(&self, rule: RuleId) -> bool {
        self.on[rule.index()]
    }

    /// Whether the module has any instruction of these ops.
    pub(crate) fn has_any(&self, ops: &[InstructionType]) -> bool {
        let has = |op: &InstructionType| {
            op.ordinal().is_some_and(|op| self.survey.ops().get(op as usize) == Some(&true))
        };
        ops.iter().any(has)
    }

    /// A name, for messages.
    pub(crate) fn name<T: Id>(&self, id: T) -> &'m str
    where
        Module: NameOf<T>,
    {
        self.module.str(self.module.name_of(id))
    }

    /// The name of what a reference means, resolved or not.
    pub(crate) fn ref_name<T: Id>(&self, r: Ref<T>) -> &'m str
    where
        Module: NameOf<T>,
    {
        match r.target() {
            RefTarget::Found(id) => self.name(id),
            RefTarget::Missing(name) => self.module.str(name),
        }
    }

    /// `{name}@SB<0,400000>(128x4000)`, as the vendor's messages have it.
    pub(crate) fn location_text(&self, id: LocId) -> String {
        let loc = &self.module[id];
        let name = self.name(id);
        let memory = loc.r#type.text(&self.module.names);
        let dims: Vec<String> = loc.dims.iter().flat_map(|dims| dims.iter()).map(|d| d.to_string()).collect();
        let dims = dims.join("x");
        match memory {
            "SB" | "PSUM" if loc.is_placed() => {
                format!("{{{name}}}@{memory}<{},{}>({dims})", loc.base, loc.addr)
            }
            _ if loc.is_placed() => format!("{{{name}}}@{memory}<{}>({dims})", loc.addr),
            _ => format!("{{{name}}}@{memory}({dims})"),
        }
    }

    /// Whether a set is an input or output of the module.
    pub(crate) fn is_io(&self, set: SetId) -> bool {
        use bir::enums::{MemoryType, TensorKind};
        let set = &self.module[set];
        let by_kind = matches!(set.kind, Some(TensorKind::ExternalInput | TensorKind::ExternalOutput));
        by_kind
            || set
                .memorylocations
                .iter()
                .any(|loc| matches!(self.module[*loc].r#type, MemoryType::Input | MemoryType::Output))
    }
}

/// Level of an arch: 10, 20, ...; that of the fallback for names that the table does not have.
pub(crate) fn level(arch: ArchLevel) -> u32 {
    arch.ordinal().or_else(|| Target::FALLBACK.ordinal()).unwrap_or(30)
}
