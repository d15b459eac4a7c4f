//! Records to the stored bytes of a file, the same on every machine.

use crate::bench::hash;
use crate::bench::manifest::FileRef;
use flate2::{Compression, GzBuilder};
use serde::Serialize;
use std::io::Write;

/// A file of a dataset, ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    pub file: FileRef,
    pub bytes: Vec<u8>,
}

/// Packs records as gzip'd JSON Lines.
pub fn jsonl<T: Serialize>(path: &str, records: impl IntoIterator<Item = T>) -> Packed {
    let mut plain = Vec::new();
    for record in records {
        serde_json::to_writer(&mut plain, &record)
            .expect("records have string keys and no failing serializers");
        plain.push(b'\n');
    }
    let bytes = gzip(&plain);
    let file = FileRef {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        sha256: hash::sha256_hex(&bytes),
        unpacked: Some(plain.len() as u64),
        unpacked_sha256: Some(hash::sha256_hex(&plain)),
    };
    Packed { file, bytes }
}

/// One gzip member without time, name or operating system, which would differ between machines.
pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::best());
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .expect("a Vec takes every byte")
}

/// A manifest's or another small file's text: pretty JSON with a final newline.
pub fn pretty<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("manifests have string keys");
    bytes.push(b'\n');
    bytes
}
