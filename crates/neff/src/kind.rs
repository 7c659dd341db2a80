//! What a member is, and which engine it belongs to.

use serde::{Serialize, Serializer};

/// An engine under the key that manifests use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKey {
    /// The tensor engine.
    Pe,
    /// Activation, the scalar engine.
    Act,
    /// Pool, the engine of the general-purpose cores.
    Pool,
    /// The vector engine.
    Dve,
    /// The sync engine.
    Sp,
    /// DMA blocks, which have debug members but no stream.
    Dma,
}

impl EngineKey {
    /// The engines with a stream, in the order in which packages list them.
    pub const STREAMS: [EngineKey; 5] =
        [EngineKey::Pe, EngineKey::Act, EngineKey::Pool, EngineKey::Dve, EngineKey::Sp];

    /// The key: `pe`, `act`, `pool`, `dve`, `sp`, `dma`.
    pub fn key(self) -> &'static str {
        ["pe", "act", "pool", "dve", "sp", "dma"][self as usize]
    }

    /// The name in the backend: `PE`, `Activation`, `Pool`, `DVE`, `SP`, `DMA`.
    pub fn name(self) -> &'static str {
        ["PE", "Activation", "Pool", "DVE", "SP", "DMA"][self as usize]
    }
}

macro_rules! kinds {
    ($( $(#[$meta:meta])* $kind:ident $name:literal, )*) => {
        /// What a member is. Its manifest says so; a few are known by their names (spec: neff 5).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind { $( $(#[$meta])* $kind, )* }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Kind] = &[$( Kind::$kind, )*];

            /// Its name, as in `host-graph`.
            pub fn name(self) -> &'static str {
                match self { $( Kind::$kind => $name, )* }
            }
        }
    };
}

kinds! {
    /// The graph of the host, `neff.json`.
    HostGraph "host-graph",
    /// The list of subgraphs.
    Kelf "kelf",
    /// What the compiler says of its run, `info.json`.
    CompileInfo "compile-info",
    /// Cost of the model, `hlo_stats.json`.
    HloStats "hlo-stats",
    /// Other figures of the compiler.
    Metrics "metrics",
    /// A subgraph.
    Definition "definition",
    /// The tensors of a subgraph, `tensor_map.json`.
    TensorMap "tensor-map",
    /// An engine of a subgraph.
    Engine "engine",
    /// The instruction words of an engine.
    Stream "stream",
    /// The producer's own disassembly of a stream.
    Assembly "assembly",
    /// Content of a variable.
    Constant "constant",
    /// The function sets of Activation.
    ActInfo "act-info",
    /// A function set.
    ActProfile "act-profile",
    /// Polynomials of a function set.
    ActBucket "act-bucket",
    /// Control words of a function set.
    ActControl "act-control",
    /// Opcode table of DVE.
    DveOpcode "dve-opcode",
    /// Datapath table of DVE.
    DveDatapath "dve-datapath",
    /// Fast control table of DVE.
    DveControlFast "dve-control-fast",
    /// Slow control table of DVE.
    DveControlSlow "dve-control-slow",
    /// Control table of DVE where it has one only.
    DveControl "dve-control",
    /// List of custom-op libraries.
    UcodeList "ucode-list",
    /// A custom-op library.
    UcodeLibrary "ucode-library",
    /// Debug information of the framework's operations.
    DebugFramework "debug-framework",
    /// Debug information of the HLO.
    DebugHlo "debug-hlo",
    /// Debug information of the tensorizer's statements.
    DebugPenguin "debug-penguin",
    /// The frames that source places refer to.
    DebugStackFrames "debug-stack-frames",
    /// Debug information of BIR instructions.
    DebugBackend "debug-backend",
    /// Debug information of words.
    DebugAsm "debug-asm",
    /// Debug information of kernels, `kernel_debug_info.json`.
    DebugKernel "debug-kernel",
    /// A member that loaders pass over.
    Ignored "ignored",
    /// Nothing names it.
    Unknown "unknown",
}

impl Kind {
    /// What a member is by its name alone: the members that no manifest names.
    pub(crate) fn known_by_name(name: &str) -> Option<Kind> {
        let debug = name.strip_prefix("debug_info/debug_info_");
        let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
        Some(match (name, file) {
            ("info.json", _) => Kind::CompileInfo,
            ("hlo_stats.json", _) => Kind::HloStats,
            (
                "hlo_metrics.json"
                | "metrics.json"
                | "global_metric_store.json"
                | "icMetadata.json"
                | "loop.json",
                _,
            ) => Kind::Metrics,
            ("kernel_debug_info.json", _) => Kind::DebugKernel,
            (_, "tensor_map.json") if !folder.is_empty() => Kind::TensorMap,
            _ if name.ends_with("wavegraph-bin.json") => Kind::Ignored,
            _ => match debug?.split_once(".dbg")?.0 {
                "pttf" => Kind::DebugFramework,
                "hlo" => Kind::DebugHlo,
                "penguin" => Kind::DebugPenguin,
                "stack_frame_index" => Kind::DebugStackFrames,
                _ => return None,
            },
        })
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
