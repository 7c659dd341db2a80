//! Every form in which packages come, and what is said of odd ones.

use neff::{Compression, Container, EngineKey, HashForm, Header, Kind, Package, TarFormat, sample};
use sha2::Digest;

use crate::common::*;

fn kinds(package: &Package, kind: Kind) -> Vec<&str> {
    package.members.iter().filter(|member| member.kind == kind).map(|member| &*member.name).collect()
}

#[test]
fn the_sample_is_a_clean_package() {
    for cores in [1, 2] {
        let file = sample::package(cores);
        let package = read(&file);
        assert_eq!(package.graphs.len(), cores);
        assert_eq!(kinds(&package, Kind::Unknown), [""; 0]);
        assert_eq!(codes(&file), [""; 0]);
        for graph in &package.graphs {
            let words: Vec<u64> = graph.engines.iter().map(|engine| engine.stream_bytes / 64).collect();
            assert_eq!(words, [12, 5, 7, 2, 3]);
            for engine in &graph.engines {
                assert_eq!(engine.asm_summary.entries, engine.stream_bytes / 64);
            }
        }
        assert_eq!(package.payload.compression, Compression::Gzip);
        assert_eq!(package.payload.tar_format, TarFormat::Ustar);
        assert_eq!((file.len() - 1024) % 10240, 0);
    }
}

#[test]
fn kinds_come_from_manifests_and_not_from_names() {
    let mut members = one_core();
    for (from, to) in [
        ("PE.bin", "zebra.npy"),
        ("identity.npy", "PE.bin"),
        ("Pool.json", "p"),
        ("def.json", "d.txt"),
        ("kelf-0.json", "list"),
    ] {
        rename(&mut members, from, to);
    }
    let package = read(&wrapped(&members));
    assert_eq!(package.member("sg00/zebra.npy").unwrap().kind, Kind::Stream);
    assert_eq!(package.member("sg00/PE.bin").unwrap().kind, Kind::Constant);
    assert_eq!(package.member("sg00/d.txt").unwrap().kind, Kind::Definition);
    assert_eq!(package.member("list").unwrap().kind, Kind::Kelf);
    assert_eq!(package.member("sg00/p").unwrap().engine, Some(EngineKey::Pool));
    assert_eq!(package.graphs[0].engine(EngineKey::Pe).unwrap().stem(), "zebra");
    assert_eq!(kinds(&package, Kind::Unknown), [""; 0]);
}

#[test]
fn older_names_and_odd_stems_are_followed() {
    let mut members = one_core();
    for (from, to) in
        [("kelf-0.json", "kelf-a.json"), ("PE.", "pe."), ("SP.", "SP0."), ("neff.json", "kelp.json")]
    {
        rename(&mut members, from, to);
    }
    let file = wrapped(&members);
    let package = read(&file);
    assert_eq!(package.kelf_name, "kelf-a.json");
    assert_eq!(package.member("kelp.json").unwrap().kind, Kind::HostGraph);
    assert_eq!(package.graphs[0].engine(EngineKey::Pe).unwrap().stream.as_deref(), Some("sg00/pe.bin"));
    assert_eq!(package.graphs[0].engine(EngineKey::Sp).unwrap().stem(), "SP0");
}

#[test]
fn a_package_without_a_host_graph_is_read_with_a_warning() {
    let mut members = one_core();
    members.retain(|(name, _)| name != "neff.json");
    let package = read(&wrapped(&members));
    assert_eq!(package.kelf_name, "kelf-0.json");
    assert_eq!(package.findings.iter().map(|f| f.code).collect::<Vec<_>>(), ["NEFF-07"]);
}

#[test]
fn an_engine_that_is_not_there_has_an_empty_stream() {
    let mut members = one_core();
    members.retain(|(name, _)| !name.contains("DVE") && !name.contains("default_"));
    edit(&mut members, "sg00/def.json", "\"dve\": \"DVE.json\",", "");
    edit(&mut members, "sg00/def.json", "\"dve_instr\": \"DVE.bin\",", "");
    let package = read(&wrapped(&members));
    let dve = package.graphs[0].engine(EngineKey::Dve).unwrap();
    assert_eq!((&dve.stream, dve.stream_bytes), (&None, 0));
    // The debug members that are gone are worth a note only.
    let file = wrapped(&members);
    assert_eq!(codes(&file), [""; 0]);
}

#[test]
fn packages_of_version_one_have_a_sha256_and_may_be_plain() {
    let archive = tar_of(&one_core(), tar::Header::new_ustar);
    for (payload, compression) in [(archive.clone(), Compression::None), (gzip(&archive), Compression::Gzip)]
    {
        let digest = sha2::Sha256::digest(&payload).to_vec();
        let reversed: Vec<u8> = digest.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
        for (hash, form) in [(digest, HashForm::Plain), (reversed, HashForm::WordReversed)] {
            let header = Header {
                pkg_version: 1,
                data_size: payload.len() as u64,
                hash: hash.try_into().unwrap(),
                neff_build_version: "1.0%main@0".into(),
                ..Header::default()
            };
            let file = [&header.write()[..], &payload].concat();
            let container = Container::open(&file).unwrap();
            assert_eq!(container.integrity().form, Some(form));
            assert!(container.integrity().is_sha256);
            assert_eq!(read(&file).payload.compression, compression);
        }
    }
}

#[test]
fn the_digest_may_stand_in_plain_order_with_filler() {
    let mut file = sample::package(1);
    let digest = md5::Md5::digest(&file[1024..]).to_vec();
    file[0xAC..0xBC].copy_from_slice(&digest);
    file[0xBC..0xCC].fill(b'0');
    assert_eq!(Container::open(&file).unwrap().integrity().form, Some(HashForm::Plain));
    file[0xAC] ^= 1;
    let container = Container::open(&file).unwrap();
    assert_eq!(container.integrity().form, None);
    let error = container.integrity().require(container.header.as_ref().unwrap()).unwrap_err();
    assert!(error.to_string().contains("the hash in the header is"), "{error}");
    assert_eq!(codes(&file), ["NEFF-02"]);
}

#[test]
fn a_payload_without_a_header_is_read_with_a_warning() {
    let archive = tar_of(&one_core(), tar::Header::new_ustar);
    for file in [archive.clone(), gzip(&archive)] {
        let package = read(&file);
        assert!(package.header.is_none());
        assert_eq!(package.findings[0].code, "NEFF-01");
    }
}

#[test]
fn archives_of_all_forms_are_read() {
    let long = format!("sg00/{}.npy", "x".repeat(180));
    let with_long = || {
        let mut members = one_core();
        rename(&mut members, "identity.npy", &long[5..]);
        members
    };
    let gnu = read(&wrap(&gzip(&tar_of(&with_long(), tar::Header::new_gnu))));
    assert_eq!(gnu.payload.tar_format, TarFormat::Gnu);
    assert_eq!(gnu.member(&long).unwrap().kind, Kind::Constant);

    let sources = with_long()
        .into_iter()
        .map(|(name, body)| neff::pack::Source { name, body: neff::pack::Body::Bytes(body) });
    let sources: Vec<_> = sources.collect();
    let packed = neff::pack::to_bytes(Header::default(), &sources, &neff::pack::Options::default()).unwrap();
    let pax = read(&packed);
    assert_eq!(pax.payload.tar_format, TarFormat::Pax);
    assert_eq!(pax.member(&long).unwrap().kind, Kind::Constant);

    // Folders are passed over, `./` in front of names is taken away.
    let mut builder = tar::Builder::new(Vec::new());
    for (name, body) in one_core() {
        let mut header = tar::Header::new_gnu();
        let name = format!("./{name}");
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(body.len() as u64);
        header.set_cksum();
        builder.append(&header, &body[..]).unwrap();
        let mut folder = tar::Header::new_gnu();
        folder.as_mut_bytes()[..7].copy_from_slice(b"./sg00/");
        folder.set_entry_type(tar::EntryType::Directory);
        folder.set_size(0);
        folder.set_cksum();
        builder.append(&folder, &[][..]).unwrap();
    }
    let dotted = read(&wrap(&gzip(&builder.into_inner().unwrap())));
    assert_eq!(dotted.members.len(), one_core().len());
    assert_eq!(dotted.member("sg00/PE.bin").unwrap().kind, Kind::Stream);
}

#[test]
fn two_members_of_one_name_are_an_error() {
    let mut members = one_core();
    members.push(members[3].clone());
    assert!(fault(&wrapped(&members)).contains("is there twice"));
}

#[test]
fn padding_is_expected_and_rubbish_is_not() {
    let payload = gzip(&tar_of(&one_core(), tar::Header::new_ustar));
    let zeros = [&payload[..], &[0; 5000]].concat();
    let package = read(&wrap(&zeros));
    assert_eq!((package.payload.stored, package.payload.padding), (payload.len() as u64, 5000));
    assert!(package.findings.is_empty());
    let rubbish = [&payload[..], b"rubbish"].concat();
    assert_eq!(codes(&wrap(&rubbish)), ["NEFF-03"]);
    let behind = [&wrap(&payload)[..], b"more"].concat();
    assert_eq!(codes(&behind), ["NEFF-03"]);
    // Neither end marker nor anything else behind the last member; half of it is enough.
    let archive = tar_of(&one_core(), tar::Header::new_ustar);
    assert!(fault(&wrap(&gzip(&archive[..archive.len() - 1024]))).contains("no end marker"));
    assert_eq!(codes(&wrap(&gzip(&archive[..archive.len() - 512]))), [""; 0]);
    assert_eq!(codes(&wrap(&gzip(&[&archive[..], b"x"].concat()))), ["NEFF-04"]);
}

#[test]
fn what_is_wrong_is_found() {
    let with = |change: &dyn Fn(&mut Vec<(String, Vec<u8>)>)| {
        let mut members = one_core();
        change(&mut members);
        codes(&wrapped(&members))
    };
    assert_eq!(with(&|_| {}), [""; 0]);
    assert_eq!(with(&|members: &mut Vec<_>| edit(members, "info.json", "product", "other")), ["NEFF-05"]);
    let definition = |from: &'static str, to: &'static str| {
        with(&move |members: &mut Vec<_>| edit(members, "sg00/def.json", from, to))
    };
    assert_eq!(definition("\"var_id\": 4", "\"var_id\": 3"), ["NEFF-10"]);
    assert_eq!(definition("\"var_id\": 4", "\"var_id\": 40"), ["NEFF-10"]);
    assert_eq!(definition("\"type\": \"output\"", "\"type\": \"tmp-buf\""), ["NEFF-11"]);
    assert_eq!(definition("qPoolDynamic", "a_queue_with_a_name_of_more_than_31_bytes"), ["NEFF-14"]);
    assert_eq!(definition("\"owner\": \"pool\"", "\"owner\": \"nobody\""), ["NEFF-14"]);
    assert_eq!(definition("\"num_queues\": 16", "\"num_queues\": 17"), ["NEFF-14", "NEFF-14"]);
    assert_eq!(definition("\"runtime_semaphore_count\": 3", "\"runtime_semaphore_count\": 9"), ["NEFF-15"]);
    assert_eq!(definition("evtaccel", "something"), ["NEFF-22"]);
    assert_eq!(definition("\"pe_instr\": \"PE.bin\"", "\"pe_instr\": \"SP.bin\""), ["NEFF-09"]);
    assert_eq!(definition("\"neff_features\": []", "\"neff_features\": [\"neff_feature_vnc\"]"), ["NEFF-21"]);

    let pe = |change: &dyn Fn(&mut Vec<u8>)| {
        with(&|members: &mut Vec<(String, Vec<u8>)>| {
            change(&mut members.iter_mut().find(|(name, _)| name == "sg00/PE.bin").unwrap().1);
        })
    };
    assert_eq!(pe(&|body| body.truncate(11 * 64)), ["NEFF-18"]);
    assert_eq!(pe(&|body| body.push(0)), ["NEFF-16"]);

    let missing =
        with(&|members: &mut Vec<(String, Vec<u8>)>| members.retain(|(name, _)| name != "sg00/identity.npy"));
    assert_eq!(missing, ["NEFF-08"]);
    let stray = with(&|members: &mut Vec<(String, Vec<u8>)>| members.push(("stray".into(), vec![1])));
    assert_eq!(stray, [""; 0], "members that nothing names are worth a note");
    let records = r#""dma":[{"id":1,"queue":"q","desc":[{"from":"x","to":"nothing","from_steps":[1],"from_sizes":[4],"to_steps":[1],"to_sizes":[4]}]},
        {"id":2,"desc":{"from":"x","to":"y","from_steps":[1,2],"from_sizes":[4],"to_steps":[1],"to_sizes":[4]}},
        {"id":3,"desc":{"from":"x","to":"y","from_steps":[1,1,1,1,1],"from_sizes":[1,1,1,1,1]}}]"#;
    let found = with(&|members: &mut Vec<_>| edit(members, "sg00/PE.json", "\"dma\":[]", records));
    assert_eq!(found, ["NEFF-12", "NEFF-13"]);
}

#[test]
fn debug_information_that_is_damaged_does_no_harm() {
    let mut members = one_core();
    let body = &mut members.iter_mut().find(|(name, _)| name == "sg00/debug_info_backend_PE.dbg").unwrap().1;
    body.truncate(body.len() - 3);
    assert_eq!(codes(&wrapped(&members)), ["NEFF-19"]);
    // One that does not begin with its description is found in a second pass.
    let body = &mut members.iter_mut().find(|(name, _)| name == "sg00/debug_info_backend_PE.dbg").unwrap().1;
    *body = vec![0x20, 1, 0x1a, 2, 0x08, 7];
    let package = read(&wrapped(&members));
    assert_eq!(package.graphs[0].engine(EngineKey::Pe).unwrap().backend_summary.entries, 1);
    assert!(package.findings.is_empty());
}

#[test]
fn devices_take_packages_of_their_generation() {
    let package = |cores| read(&sample::package(cores));
    let codes = |cores, generation| {
        let found = neff::check::device(&package(cores), generation, "it");
        found.iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(2, "v3"), [""; 0]);
    assert_eq!(codes(1, "v2"), ["NEFF-23"]);
    assert_eq!(codes(2, "v2"), ["NEFF-23", "NEFF-24"]);
    assert_eq!(codes(1, "v4"), ["NEFF-23"]);
    let mut members = one_core();
    edit(&mut members, "kelf-0.json", "cayman", "*");
    assert!(neff::check::device(&read(&wrapped(&members)), "v2", "trn1").is_empty());
}
