//! The neighbours of every row, and the file that carries them.
//!
//! Little-endian throughout; a varint has seven bits a byte, the lowest first, the eighth bit set
//! where more follow:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | magic `IBAG` |
//! | 4 | version, u32, now 1 |
//! | 4 | `rows`, u32 |
//! | 4 | `entries`, u32: rows at which every search begins |
//! | 4 | M, u32 |
//! | 4 | `ef_construction`, u32 |
//! | 8 | seed, u64 |
//! | 64 | what the rows are, as 64 hex digits: see [`Graph::encode`] |
//! | 4 × entries | the entries, u32 |
//! | the rest | for each row a varint with the number of its neighbours, then these, ascending: the first as a varint, of each other one its distance to the one before, less 1 |

use super::params::{HnswParams, M};

/// First bytes of a graph file.
pub const MAGIC: [u8; 4] = *b"IBAG";
/// Version of the layout above.
pub const VERSION: u32 = 1;

const HEADER: usize = 32;
const NAME: usize = 64;

/// So many neighbours of a row, at least, have it as a neighbour where they have room.
const BACK: u32 = 8;
/// Most neighbours of a row: those that instant-distance gives, and room for some that would be found
/// from nowhere else.
const MOST: usize = 2 * M + 16;

/// Why a graph file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    #[error("it does not begin with IBAG, so it is some other kind of file")]
    NoGraph,
    #[error("it has version {0} of the graph format, and this program reads version {VERSION}")]
    Version(u32),
    #[error("it links {found} passages and there are {expected}")]
    Rows { found: u32, expected: usize },
    #[error("it was made for other vectors than those that are searched")]
    Foreign,
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// Who is linked with whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// How it was made; `ef_search` is for whoever searches.
    pub params: HnswParams,
    /// Rows at which every search begins, those of the upper layers first.
    pub(super) entries: Vec<u32>,
    /// The neighbours of row `n` are `links[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    links: Vec<u32>,
}

impl Graph {
    /// `neighbours` has one list for each row, none twice; all of them, and the entries, are rows.
    pub(super) fn new(params: HnswParams, entries: Vec<u32>, neighbours: Vec<Vec<u32>>) -> Self {
        let (mut starts, mut links) = (vec![0], Vec::new());
        for mut list in neighbours {
            list.sort_unstable();
            links.append(&mut list);
            starts.push(links.len() as u32);
        }
        Self {
            params,
            entries,
            starts,
            links,
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows near row `row`, ascending.
    #[inline]
    pub fn neighbours(&self, row: usize) -> &[u32] {
        &self.links[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// The bytes as documented above. `vectors` names the rows by 64 hex digits, so that a graph is
    /// never used with other ones.
    pub fn encode(&self, vectors: &str) -> Vec<u8> {
        assert_eq!(vectors.len(), NAME, "rows are named by a SHA-256 in hex");
        let mut out = Vec::with_capacity(HEADER + NAME + self.links.len() * 2);
        out.extend(MAGIC);
        let HnswParams {
            ef_construction,
            seed,
            ..
        } = self.params;
        let numbers = [VERSION, self.len() as u32, self.entries.len() as u32];
        for number in numbers
            .into_iter()
            .chain([M as u32, ef_construction as u32])
        {
            out.extend(number.to_le_bytes());
        }
        out.extend(seed.to_le_bytes());
        out.extend(vectors.as_bytes());
        out.extend(self.entries.iter().flat_map(|row| row.to_le_bytes()));
        for row in 0..self.len() {
            let list = self.neighbours(row);
            put(&mut out, list.len() as u32);
            let mut next = 0;
            for other in list {
                put(&mut out, other - next);
                next = other + 1;
            }
        }
        out
    }

    /// Reads the bytes back, for `rows` rows of the name `vectors`. Whatever is accepted can be
    /// walked: every number is checked.
    pub fn decode(bytes: &[u8], rows: usize, vectors: &str) -> Result<Self, GraphError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(GraphError::NoGraph);
        }
        let mut reader = Reader { bytes, at: 4 };
        match reader.number()? {
            VERSION => {}
            other => return Err(GraphError::Version(other)),
        }
        let found = reader.number()?;
        let entries = reader.number()? as usize;
        let m = reader.number()?;
        let ef_construction = reader.number()? as usize;
        let seed = u64::from(reader.number()?) | u64::from(reader.number()?) << 32;
        if reader.take(NAME)? != vectors.as_bytes() {
            return Err(GraphError::Foreign);
        }
        if found as usize != rows {
            let expected = rows;
            return Err(GraphError::Rows { found, expected });
        }
        if m as usize != M {
            return Err(damaged(format!("it says that M is {m}, and M is {M}")));
        }
        if entries.saturating_mul(4) > bytes.len() {
            return Err(reader.ends());
        }
        let entries: Vec<u32> = (0..entries)
            .map(|_| reader.number())
            .collect::<Result<_, _>>()?;
        if rows > 0 && entries.is_empty() {
            return Err(damaged("it has no row to begin at".to_owned()));
        }
        if let Some(row) = entries.iter().find(|row| **row >= found) {
            return Err(damaged(format!("it begins at row {row} of {found}")));
        }
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        let mut links = Vec::with_capacity(bytes.len() / 2);
        for row in 0..rows {
            let count = reader.varint()?;
            if count as usize > MOST {
                return Err(damaged(format!("row {row} has {count} neighbours")));
            }
            let mut next = 0u32;
            for _ in 0..count {
                let other = next.checked_add(reader.varint()?);
                let other = other.filter(|other| *other < found).ok_or_else(|| {
                    damaged(format!("row {row} has a neighbour beyond row {found}"))
                })?;
                links.push(other);
                next = other + 1;
            }
            starts.push(links.len() as u32);
        }
        if reader.at != bytes.len() {
            let more = bytes.len() - reader.at;
            return Err(damaged(format!("{more} bytes follow after its last row")));
        }
        Ok(Self {
            params: HnswParams {
                ef_construction,
                seed,
                ..HnswParams::default()
            },
            entries,
            starts,
            links,
        })
    }
}

/// Links back to rows that hardly any other row links to: those a walk would never come by.
pub(super) fn lead_back(neighbours: &mut [Vec<u32>]) {
    let mut back = vec![0; neighbours.len()];
    for other in neighbours.iter().flatten() {
        back[*other as usize] += 1;
    }
    for row in 0..neighbours.len() {
        for n in 0..neighbours[row].len() {
            if back[row] >= BACK {
                break;
            }
            let list = &mut neighbours[neighbours[row][n] as usize];
            if list.len() < MOST && !list.contains(&(row as u32)) {
                list.push(row as u32);
                back[row] += 1;
            }
        }
    }
}

fn damaged(why: String) -> GraphError {
    GraphError::Damaged(why)
}

fn put(out: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn ends(&self) -> GraphError {
        damaged(format!("it ends after {} bytes", self.bytes.len()))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], GraphError> {
        let taken = self.bytes.get(self.at..self.at + count);
        self.at += count;
        taken.ok_or_else(|| self.ends())
    }

    fn number(&mut self) -> Result<u32, GraphError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    fn varint(&mut self) -> Result<u32, GraphError> {
        let mut number = 0u32;
        for shift in (0..35).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(|| self.ends())?;
            self.at += 1;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged(format!("a number at byte {} has no end", self.at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let lists = [vec![2, 1], vec![0], vec![300, 0, 1, 299]];
        let all = lists.into_iter().chain((3..301).map(|n| vec![n - 1]));
        Graph::new(HnswParams::default(), vec![2, 0], all.collect())
    }

    fn name() -> String {
        "0f".repeat(32)
    }

    #[test]
    fn what_is_written_is_read_and_laid_out_as_documented() {
        let bytes = graph().encode(&name());
        assert_eq!(Graph::decode(&bytes, 301, &name()), Ok(graph()));
        assert_eq!(graph().neighbours(2), [0, 1, 299, 300]);
        let after = &bytes[HEADER + NAME + 8..];
        // Two neighbours, 1 and 2; one, 0; four: 0, 1, 299 = 1 + 1 + 297 = 2 · 128 + 41, 300.
        assert_eq!(after[..10], [2, 1, 0, 1, 0, 4, 0, 0, 0xa9, 2]);
    }

    #[test]
    fn a_row_that_nobody_links_to_is_linked_back_by_its_neighbours() {
        // Everybody knows 0 and 1; nobody knows 9.
        let mut lists = vec![vec![1, 2], vec![0, 2]];
        lists.resize(10, vec![0, 1]);
        lists[9] = (0..9).collect();
        lead_back(&mut lists);
        let of_nine = lists.iter().filter(|list| list.contains(&9)).count();
        assert_eq!(of_nine, BACK as usize, "{lists:?}");
        for (row, list) in lists.iter().enumerate() {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), list.len(), "{row}: {list:?}");
        }
        // One whose neighbours are full stays as it is.
        let full: Vec<u32> = (1..=MOST as u32).collect();
        let mut lists = vec![full.clone()];
        lists.extend((0..MOST).map(|_| vec![0]));
        lists.push(vec![0]);
        lead_back(&mut lists);
        assert_eq!(lists[0], full);
    }

    #[test]
    fn foreign_and_damaged_files_are_refused_in_sentences() {
        let (bytes, name) = (graph().encode(&name()), name());
        let check = |bytes: &[u8], rows, name: &str, expected: &str| {
            let error = Graph::decode(bytes, rows, name).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(b"IBAV", 301, &name, "some other kind of file");
        check(&bytes, 301, &"1f".repeat(32), "made for other vectors");
        check(&bytes, 300, &name, "links 301 passages and there are 300");
        let changed = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            bytes
        };
        check(&changed(4, 9), 301, &name, "version 9");
        check(&changed(16, 7), 301, &name, "M is 7");
        check(&changed(15, 0x40), 301, &name, "ends after");
        check(&changed(12, 0), 301, &name, "no row to begin at");
        check(
            &changed(HEADER + NAME + 1, 2),
            301,
            &name,
            "begins at row 514",
        );
        check(&changed(HEADER + NAME + 8, 99), 301, &name, "99 neighbours");
        check(&[&bytes[..], &[0]].concat(), 301, &name, "1 bytes follow");
        // The last neighbour becomes 299 + 9 of 301.
        let last = bytes.len() - 2;
        check(&changed(last, 0xff), 301, &name, "beyond row 301");
        for cut in 0..bytes.len() {
            assert!(Graph::decode(&bytes[..cut], 301, &name).is_err(), "{cut}");
        }
    }
}
