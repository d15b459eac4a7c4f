// Datasets to spoil: read from a folder, change records, and get a folder whose hashes, sizes and
// counts agree again, so that what a reader refuses is the change itself and not its hash.
import crypto from "node:crypto";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";

const sha256 = (bytes) => crypto.createHash("sha256").update(bytes).digest("hex");

/** All files of a dataset's folder by their path relative to it. */
export async function readDataset(folder) {
  const files = {};
  for (const entry of await fs.readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    files[path.relative(folder, file).replaceAll(path.sep, "/")] = await fs.readFile(file);
  }
  return files;
}

export const manifestOf = (files) => JSON.parse(files["manifest.json"]);

/** The records of a gzip'd JSON Lines file. */
export const recordsOf = (files, name) =>
  zlib.gunzipSync(files[name]).toString().trim().split("\n").map((line) => JSON.parse(line));

export const linesOf = (records) => records.map((record) => `${JSON.stringify(record)}\n`).join("");

/** Where the manifest says that a file is: "index", "dimensions" or the shard of an instance. */
export function fileRef(manifest, files, what) {
  if (what === "index" || what === "dimensions") return manifest[what];
  const entry = recordsOf(files, manifest.index.path).find((record) => record.id === what);
  return manifest.shards.find((shard) => shard.id === entry.shard).file;
}

/** The dataset with another manifest. */
export function withManifest(files, change) {
  const manifest = manifestOf(files);
  const changed = change(manifest) ?? manifest;
  return { ...files, "manifest.json": Buffer.isBuffer(changed) || changed.body ? changed : Buffer.from(JSON.stringify(changed)) };
}

/**
 * The dataset with other bytes for one file ("index", "dimensions", or the shard of that instance),
 * its hash and size in the manifest made to fit. `change` gets the text of the file and gives text
 * (packed here) or bytes (stored as they are).
 */
export function withFile(files, what, change) {
  const manifest = manifestOf(files);
  const ref = fileRef(manifest, files, what);
  const changed = change(zlib.gunzipSync(files[ref.path]).toString(), files[ref.path]);
  const bytes = Buffer.isBuffer(changed) ? changed : zlib.gzipSync(Buffer.from(changed));
  ref.bytes = bytes.length;
  ref.sha256 = sha256(bytes);
  for (const name of ["unpacked", "unpacked_sha256"]) delete ref[name];
  if (!Buffer.isBuffer(changed)) Object.assign(ref, { unpacked: Buffer.byteLength(changed), unpacked_sha256: sha256(changed) });
  return { ...files, [ref.path]: bytes, "manifest.json": Buffer.from(JSON.stringify(manifest)) };
}

/** The same with changed records; counts in the manifest follow unless `keepCounts`. */
export function withRecords(files, what, change, { keepCounts = false } = {}) {
  let changed;
  const next = withFile(files, what, (text) => {
    const records = text.trim().split("\n").map((line) => JSON.parse(line));
    changed = change(records) ?? records;
    return linesOf(changed);
  });
  if (keepCounts || what === "index" || what === "dimensions") return next;
  return withManifest(next, (manifest) => {
    const sessions = changed.filter((record) => record.session);
    const id = changed.find((record) => record.shard).shard.id;
    Object.assign(manifest.shards.find((shard) => shard.id === id), {
      sessions: sessions.length,
      turns: sessions.reduce((sum, record) => sum + record.session.turns.length, 0),
      instances: changed.filter((record) => record.instance).length,
    });
  });
}

/** The dataset with these shards alone, and the instances and vectors of them. */
export function onlyShards(files, ids) {
  const few = withFile(files, "index", (text) =>
    linesOf(text.trim().split("\n").map((line) => JSON.parse(line)).filter((entry) => ids.includes(entry.shard))));
  return withManifest(few, (manifest) => {
    manifest.shards = manifest.shards.filter((shard) => ids.includes(shard.id));
    for (const set of manifest.embeddings) {
      set.files = Object.fromEntries(Object.entries(set.files).filter(([shard]) => ids.includes(shard)));
    }
  });
}

/** The dataset as a host spoils it: other bytes for one file, the manifest as it was. */
export function spoiled(files, what, change) {
  const ref = fileRef(manifestOf(files), files, what);
  return { ...files, [ref.path]: change(files[ref.path]) };
}

/** Writes the files into a new folder called `name` and gives its path; `sparse` names files that only claim a size. */
export async function writeFolder(files, { name = "dataset", sparse = {} } = {}) {
  const folder = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "iba-lab-")), name);
  for (const [file, bytes] of Object.entries(files)) {
    await fs.mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await fs.writeFile(path.join(folder, file), bytes);
  }
  for (const [file, bytes] of Object.entries(sparse)) await fs.truncate(path.join(folder, file), bytes);
  return folder;
}

/** Removes what `writeFolder` wrote. */
export const removeFolder = (folder) => fs.rm(path.dirname(folder), { recursive: true, force: true });
