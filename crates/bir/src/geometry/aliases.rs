//! Classes of DRAM locations that alias each other: each is one space of bytes (spec: bir-json 5.4, ordering 14.3).

use hashbrown::HashMap;

use crate::generated::enums::{MemoryType, TensorKind};
use crate::ids::LocId;
use crate::module::Module;

/// Bit of an alias kind that says the locations surely alias. 1 may alias, 3 must.
const MUST: u8 = 2;

/// The alias classes of a module. Locations without aliases are in none.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    class_of: HashMap<LocId, usize>,
    classes: Vec<Class>,
}

/// Locations that share their bytes, as far as their sizes go.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// The first of them.
    pub(crate) root: LocId,
    /// Where those of them lie that have an address in the arena of Internal locations: the lowest byte and
    /// behind the highest, and whether all start at the lowest.
    pub(crate) arena: Option<Arena>,
    /// Whether some of the aliases are only possible.
    pub(crate) uncertain: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arena {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) one_start: bool,
}

impl Aliases {
    pub(crate) fn of(module: &Module) -> Aliases {
        let is_dram = |loc: LocId| module[loc].r#type == MemoryType::DRAM;
        let edges = module.loc_ids().filter(|loc| !module[*loc].alias.is_empty()).flat_map(|loc| {
            module[loc]
                .alias
                .iter()
                .map(move |edge| (loc, *edge))
                .filter(|(loc, edge)| is_dram(*loc) && is_dram(edge.to))
        });
        let mut leaders = HashMap::<LocId, LocId>::new();
        let mut uncertain = Vec::new();
        for (loc, edge) in edges {
            let (one, other) = (leader(&mut leaders, loc), leader(&mut leaders, edge.to));
            leaders.insert(one.max(other), one.min(other));
            if edge.kind & MUST == 0 {
                uncertain.push(loc);
            }
        }

        let mut aliases = Aliases::default();
        let mut members: Vec<LocId> = leaders.keys().copied().collect();
        members.sort_unstable();
        for loc in members {
            let root = leader(&mut leaders, loc);
            let class = *aliases.class_of.entry(root).or_insert_with(|| {
                aliases.classes.push(Class { root, arena: None, uncertain: false });
                aliases.classes.len() - 1
            });
            aliases.class_of.insert(loc, class);
            if in_arena(module, loc) {
                let start = module[loc].addr;
                let end = start.saturating_add(module[loc].bytes().unwrap_or(u64::MAX));
                let arena = &mut aliases.classes[class].arena;
                *arena = Some(match *arena {
                    None => Arena { start, end, one_start: true },
                    Some(arena) => Arena {
                        start: arena.start.min(start),
                        end: arena.end.max(end),
                        one_start: arena.one_start && arena.start == start,
                    },
                });
            }
        }
        for loc in uncertain {
            let class = aliases.class_of[&loc];
            aliases.classes[class].uncertain = true;
        }
        aliases
    }

    pub(crate) fn class(&self, loc: LocId) -> Option<&Class> {
        self.class_of.get(&loc).map(|class| &self.classes[*class])
    }
}

/// Whether a DRAM location has an address in the arena of Internal locations.
pub(crate) fn in_arena(module: &Module, loc: LocId) -> bool {
    let location = &module[loc];
    location.is_placed() && module[location.set].kind == Some(TensorKind::Internal)
}

/// The least location that is known to alias one.
fn leader(leaders: &mut HashMap<LocId, LocId>, loc: LocId) -> LocId {
    let mut root = loc;
    while let Some(next) = leaders.get(&root).filter(|next| **next != root) {
        root = *next;
    }
    let mut at = loc;
    while at != root {
        at = leaders.insert(at, root).expect("on the way to the root");
    }
    leaders.insert(root, root);
    root
}
