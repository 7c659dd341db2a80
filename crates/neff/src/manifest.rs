//! The JSON members of a package as types (spec: neff 6). Members of an object that are not known are kept in `other`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::error::Error;

/// Members of an object that this reader does not know.
pub type Other = Map<String, Value>;

/// Reads a manifest.
pub(crate) fn read<T: DeserializeOwned>(member: &str, text: &[u8]) -> Result<T, Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    serde_json::from_slice(text).map_err(|error| Error::json(member, &error))
}

/// An object whose keys are names, in the order of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Vec::new())
    }
}

impl<T> Named<T> {
    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// The value of a name; the first, should there be several.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut named = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    named.push(entry);
                }
                Ok(Named(named))
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// A list that may be written as its only element, and null as no list.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany<T> {
        Many(Vec<T>),
        One(T),
    }
    Ok(match Option::deserialize(deserializer)? {
        Some(OneOrMany::Many(list)) => list,
        Some(OneOrMany::One(one)) => vec![one],
        None => Vec::new(),
    })
}

macro_rules! objects {
    ($(
        $(#[$meta:meta])*
        $name:ident { $( $(#[$field_meta:meta])* $field:ident: $type:ty, )* }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
            /// Members that are not known.
            #[serde(flatten)]
            pub other: Other,
        }
    )* };
}

objects! {
    /// `neff.json`: the graph of the host (spec: neff 6.1).
    HostGraph {
        /// Inputs and kernels.
        nodes: Vec<HostNode>,
        /// Nodes that are inputs.
        arg_nodes: Vec<u64>,
    }

    /// A node of the host graph.
    HostNode {
        /// `null` for inputs, `tvm_op` for kernels.
        op: String,
        /// Its name.
        name: String,
        /// Attributes; numbers stand in strings here.
        attrs: HostAttrs,
    }

    /// Attributes of a node of the host graph.
    HostAttrs {
        /// `__kelf` for what runs on the device.
        func_name: Option<String>,
        /// The member that lists the subgraphs.
        kelf: Option<String>,
    }

    /// `kelf-0.json`: the subgraphs of a device program (spec: neff 6.2).
    Kelf {
        /// Of the format.
        version: Option<String>,
        /// The device: a core name, a generation or `*`.
        target: Option<String>,
        /// One for each physical core.
        graphs: Vec<KelfGraph>,
    }

    /// A subgraph as its list has it.
    KelfGraph {
        /// Its name, `sg00` and so on.
        name: String,
        /// The member that defines it.
        definition: String,
    }

    /// `def.json`: what a subgraph is made of (spec: neff 6.3).
    Definition {
        /// `definition`.
        name: Option<String>,
        /// Of the format.
        version: Option<String>,
        /// Variables, by name.
        var: Named<Variable>,
        /// Queue sets, by name.
        dma_queue: Named<QueueSet>,
        /// Collective streams.
        cc_streams: Option<CollectiveStreams>,
        /// Their number, where it stands here.
        num_streams: Option<u64>,
        /// Ranks of collectives; 0 without.
        #[serde(rename = "#rank_world_size")]
        rank_world_size: Option<u64>,
        /// State buffer that belongs to the runtime.
        #[serde(deserialize_with = "list")]
        runtime_statebuffer_reservation: Vec<Reservation>,
        /// Events that belong to the runtime, the first ones.
        runtime_event_count: Option<u64>,
        /// Semaphores that belong to the runtime, the first ones.
        runtime_semaphore_count: Option<u64>,
        /// How the device converts 8-bit floats.
        fp8_conversion_config: Option<Map<String, Value>>,
        /// A named subset of the feature bits.
        neff_features: Vec<String>,
        /// Descriptor records of the graph.
        dma: Vec<DmaRecord>,
        /// Topologies of collectives: groups of ranks.
        replica_groups: Option<Vec<Value>>,
        /// Libraries of custom ops.
        #[serde(deserialize_with = "list")]
        ucode_lib: Vec<String>,
    }

    /// Number of collective streams.
    CollectiveStreams {
        /// 0 without collectives.
        num_streams: Option<u64>,
    }

    /// A part of the state buffer that belongs to the runtime. Older packages call the first two `start_partition` and
    /// `num_partitions`.
    Reservation {
        /// First partition.
        #[serde(alias = "start_partition")]
        base_partition: u64,
        /// Byte in each of them.
        offset: u64,
        /// Number of partitions.
        #[serde(alias = "num_partitions")]
        partitions: u64,
        /// Bytes in each of them.
        size: u64,
        /// `evtaccel`.
        #[serde(rename = "type")]
        kind: Option<String>,
    }

    /// A variable: a piece of memory that words and descriptors refer to by its id (spec: neff 6.4).
    Variable {
        /// `input`, `output`, `file`, `virtual` and so on.
        #[serde(rename = "type")]
        kind: String,
        /// Its id.
        var_id: u64,
        /// Bytes of the whole tensor.
        size: Option<u64>,
        /// Of the address, in bytes.
        alignment: Option<u64>,
        /// Memory fabric, `main` or `alt`.
        fabric_path: Option<String>,
        /// Member with the content, beside the definition.
        file_name: Option<String>,
        /// Offset in the scratchpad, in bytes.
        backing_variable_off: Option<u64>,
        /// Area of the scratchpad.
        backing_buf: Option<String>,
        /// The variable whose address this one holds.
        referenced_var_id: Option<u64>,
        /// Variables of an address table.
        list: Option<Vec<u64>>,
    }

    /// A set of DMA queues (spec: neff 6.5).
    QueueSet {
        /// `dynamic`, `in`, `out`, `data` and so on.
        #[serde(rename = "type")]
        kind: String,
        /// Engine that owns it: `pe`, `act`, `pool`, `dve`, `sp`.
        owner: Option<String>,
        /// Queues, 1 to 16.
        num_queues: Option<u64>,
        /// `main` or `alt`.
        fabric_path: Option<String>,
        /// One for each queue.
        semaphore_set: Option<Vec<u64>>,
        /// One for all.
        semaphore: Option<u64>,
        /// Names of instances.
        queue_instances: Option<Vec<String>>,
        /// Only on the first generation.
        pinned: Option<bool>,
        /// Descriptor scratch of generated DMA.
        dynamic_dma: Option<Map<String, Value>>,
    }

    /// The JSON of one engine (spec: neff 6.6).
    EngineFile {
        /// Its own file name.
        name: Option<String>,
        /// Member with the instruction words.
        instr: Option<String>,
        /// Transfers with descriptors.
        dma: Vec<DmaRecord>,
        /// Function tables of Activation: names, or entries of tables.
        activation_function_sets: Option<Vec<Value>>,
        /// Member that lists all function sets.
        act_info: Option<String>,
        /// Semaphore of the table loads.
        act_semaphore: Option<u64>,
        /// Tables of DVE.
        dve_tables: Vec<DveTables>,
    }

    /// The tables of DVE.
    DveTables {
        /// Member with the table of opcodes.
        opcode_table: Option<String>,
        /// Member with the datapath table.
        datapath_table: Option<String>,
        /// Members with the control tables.
        control_fast_table: Option<String>,
        /// The slow one.
        control_slow_table: Option<String>,
        /// Both in one.
        control_table: Option<String>,
    }

    /// Transfers that are fired together by one trigger word.
    DmaRecord {
        /// Number of the block, in the trigger word.
        id: u64,
        /// Queue set.
        queue: Option<String>,
        /// Instance of it; wins over `queue`.
        instance_name: Option<String>,
        /// Semaphore that counts completions.
        semaphore: Option<Value>,
        /// Transfers.
        #[serde(deserialize_with = "list")]
        desc: Vec<Descriptor>,
    }

    /// A transfer. Offsets, steps and the first size are bytes, innermost first.
    Descriptor {
        /// `copy` when absent.
        op: Option<String>,
        /// Source variable.
        from: Option<String>,
        /// Target variable.
        to: Option<String>,
        /// Offset in the source, in bytes.
        from_off: Option<u64>,
        /// Offset in the target, in bytes.
        to_off: Option<u64>,
        /// Steps in the source.
        from_steps: Vec<i64>,
        /// Counts in the source.
        from_sizes: Vec<u64>,
        /// Steps in the target.
        to_steps: Vec<i64>,
        /// Counts in the target.
        to_sizes: Vec<u64>,
        /// Element type of the source.
        from_dtype: Option<String>,
        /// Element type of the target.
        to_dtype: Option<String>,
        /// Sources of a computing transfer.
        from_arr: Option<Vec<Value>>,
    }

    /// A tensor as the front end knows it (spec: neff 6.8).
    TensorInfo {
        /// Element type.
        dtype: Option<String>,
        /// `input` or `output`; constants have none.
        kind: Option<String>,
        /// Whether it is a constant.
        is_const: Option<bool>,
        /// Shape in the framework.
        tf_shape: Option<Vec<u64>>,
        /// Shape on the device.
        sim_shape: Option<Vec<u64>>,
    }

    /// `info.json`: what the compiler says of its run (spec: neff 6.9).
    CompileInfo {
        /// Of the compiler.
        tool_version: Option<String>,
        /// `Dynamic`.
        kelp_version: Option<String>,
        /// As in the header.
        name: Option<String>,
        /// As in the header.
        num_tpb: Option<u64>,
        /// As in the header.
        num_tpb_requested: Option<u64>,
        /// As in the header.
        num_tpb_per_node: Option<Vec<u64>>,
    }

    /// `hlo_stats.json`: what the model costs. -1 is unknown.
    HloStats {
        /// Multiplications with addition.
        #[serde(rename = "HloMacCount")]
        mac_count: Option<i64>,
        /// Bytes that are moved at least.
        #[serde(rename = "Traffic")]
        traffic: Option<i64>,
        /// Operations for each byte.
        #[serde(rename = "ArithmeticIntensity")]
        arithmetic_intensity: Option<f64>,
    }

    /// The function sets of Activation (spec: neff 6.10).
    ActInfo {
        /// All sets of the compiler; those that are used have their files in the package.
        act_func_sets: Vec<FunctionSet>,
    }

    /// A set of functions that are loaded together.
    FunctionSet {
        /// Its name.
        name: Option<String>,
        /// Member with the polynomials.
        bkt_bin: Option<String>,
        /// Member with the control words.
        #[serde(alias = "ctl_bin")]
        ctrl_bin: Option<String>,
        /// Member with the rest.
        profile_json: Option<String>,
    }

    /// A library of custom ops (spec: neff 6.7).
    UcodeLibrary {
        /// Its name.
        name: Option<String>,
        /// Member with the code.
        library: Option<String>,
    }
}

impl Definition {
    /// A string that the definition has under a key that is made of an engine's: `pe`, `pe_instr` and so on.
    pub(crate) fn text(&self, member: &str, key: &str) -> Result<Option<&str>, Error> {
        match self.other.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(manifest(member, format!("{key:?} is not a string"))),
        }
    }

    /// The strings under such a key, which may be one or a list.
    pub(crate) fn texts(&self, member: &str, key: &str) -> Result<Vec<String>, Error> {
        let bad = || manifest(member, format!("{key:?} is no list of strings"));
        match self.other.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Array(list)) => {
                list.iter().map(|value| value.as_str().map(str::to_owned).ok_or_else(bad)).collect()
            }
            Some(_) => Err(bad()),
        }
    }

    /// Bytes of the scratchpad, as the runtime computes it: for each area the end of its last variable, summed
    /// (spec: neff 6.4).
    pub fn scratchpad(&self) -> u64 {
        let mut areas: Vec<(&str, u64)> = Vec::new();
        for (_, var) in self.var.iter().filter(|(_, var)| var.kind == "virtual") {
            let area = var.fabric_path.as_deref().or(var.backing_buf.as_deref()).unwrap_or("main");
            let end = var.backing_variable_off.unwrap_or(0).saturating_add(var.size.unwrap_or(0));
            match areas.iter_mut().find(|(known, _)| *known == area) {
                Some((_, last)) => *last = end.max(*last),
                None => areas.push((area, end)),
            }
        }
        areas.iter().fold(0, |sum: u64, (_, end)| sum.saturating_add(*end))
    }

    /// Number of collective streams, 0 without.
    pub fn collective_streams(&self) -> u64 {
        let inside = self.cc_streams.as_ref().and_then(|streams| streams.num_streams);
        inside.or(self.num_streams).unwrap_or(0)
    }

    /// The variable of an id.
    pub fn variable(&self, id: u64) -> Option<(&str, &Variable)> {
        self.var.iter().find(|(_, var)| var.var_id == id)
    }

    /// The address table that generated DMA reads, if there is one.
    pub fn dge_table(&self) -> Option<(&str, &Variable)> {
        self.var.iter().find(|(_, var)| var.kind == "dge-table")
    }
}

impl EngineFile {
    /// Names of the function sets of Activation.
    pub fn function_sets(&self) -> Option<Vec<&str>> {
        let sets = self.activation_function_sets.as_ref()?;
        Some(sets.iter().filter_map(|set| set.as_str().or_else(|| set.get("name")?.as_str())).collect())
    }
}

pub(crate) fn manifest(member: &str, reason: impl Into<String>) -> Error {
    Error::Manifest { member: member.to_owned(), reason: reason.into() }
}

/// The tensors of `tensor_map.json`, in either of its forms (spec: neff 6.8).
pub(crate) fn tensor_map(member: &str, text: &[u8]) -> Result<Named<TensorInfo>, Error> {
    let value: Named<Value> = read(member, text)?;
    let mut tensors = Named::default();
    let bad = |error: serde_json::Error| manifest(member, error.to_string());
    for (name, value) in value.0 {
        match value {
            Value::Array(list) if name == "inputs" || name == "outputs" => {
                for value in list {
                    let tensor = value.get("name").and_then(Value::as_str).map(str::to_owned);
                    let tensor = tensor.ok_or_else(|| manifest(member, "a tensor has no name"))?;
                    let mut info: TensorInfo = serde_json::from_value(value).map_err(bad)?;
                    info.kind.get_or_insert_with(|| name.trim_end_matches('s').to_owned());
                    tensors.0.push((tensor, info));
                }
            }
            Value::Object(_) if name != "alias_map" => {
                tensors.0.push((name, serde_json::from_value(value).map_err(bad)?));
            }
            _ => {}
        }
    }
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(text: &str) -> Definition {
        read("def.json", text.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_not_known_is_kept() {
        let text = r#"{"var":{"z":{"type":"input","var_id":1,"size":4,"ops":[]},"a":{"type":"output","var_id":0}},"new":[1]}"#;
        let read = definition(text);
        assert_eq!(read.var.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["z", "a"]);
        let again = serde_json::to_value(&read).unwrap();
        assert_eq!(again["new"], serde_json::json!([1]));
        assert_eq!(again["var"]["z"]["ops"], serde_json::json!([]));
    }

    #[test]
    fn the_scratchpad_is_the_sum_of_its_areas() {
        let read = definition(
            r#"{"var":{
                "a":{"type":"virtual","var_id":0,"size":10,"backing_variable_off":100},
                "b":{"type":"virtual","var_id":1,"size":50,"backing_variable_off":0,"fabric_path":"main"},
                "c":{"type":"virtual","var_id":2,"size":7,"backing_buf":"sharded"},
                "d":{"type":"virtual","var_id":3,"size":18446744073709551615,"backing_variable_off":9,"fabric_path":"alt"},
                "e":{"type":"input","var_id":4,"size":1000}}}"#,
        );
        assert_eq!(read.scratchpad(), u64::MAX);
        let mut read = read;
        read.var.0.remove(3);
        assert_eq!(read.scratchpad(), 117);
    }

    #[test]
    fn older_spellings_are_read() {
        let read = definition(
            r#"{"runtime_statebuffer_reservation":[{"type":"evtaccel","start_partition":3,"num_partitions":4,"offset":5,"size":6}],
                "num_streams":2,"ucode_lib":"u.json"}"#,
        );
        let reserved = &read.runtime_statebuffer_reservation[0];
        assert_eq!((reserved.base_partition, reserved.partitions), (3, 4));
        assert_eq!(read.collective_streams(), 2);
        assert_eq!(read.ucode_lib, ["u.json"]);
        let one: EngineFile =
            super::read("x", br#"{"dma":[{"id":1,"desc":{"from":"a"}},{"id":2,"desc":[{},{}]}]}"#).unwrap();
        assert_eq!(one.dma.iter().map(|record| record.desc.len()).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_fault_has_its_place() {
        let error = read::<Definition>("sg00/def.json", b"{\n  \"var\": 3\n}").unwrap_err();
        assert!(error.to_string().starts_with("sg00/def.json:2:"), "{error}");
        let deep = "[".repeat(100_000);
        assert!(read::<Value>("x.json", deep.as_bytes()).unwrap_err().to_string().contains("recursion"));
    }

    #[test]
    fn both_forms_of_a_tensor_map_are_read() {
        let map = tensor_map("t", br#"{"x":{"dtype":"float16","kind":"input","tf_shape":[2,3]}}"#).unwrap();
        assert_eq!(map.get("x").unwrap().tf_shape, Some(vec![2, 3]));
        let text = br#"{"inputs":[{"name":"a"}],"outputs":[{"name":"b"}],"alias_map":[]}"#;
        let map = tensor_map("t", text).unwrap();
        assert_eq!(map.get("b").unwrap().kind.as_deref(), Some("output"));
    }
}
