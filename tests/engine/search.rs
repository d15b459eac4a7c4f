//! Both indexes against a plain scan over floats.

use iba_lab::embed::{ChunkSpan, VectorFile};
use iba_lab::search::{Exact, HnswParams, Index};

const DIM: usize = 384;

/// A seeded source of numbers in -1..1 (xorshift64*), so that every run sees the same vectors.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40;
        bits as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn unit(&mut self) -> Vec<f32> {
        normalised((0..DIM).map(|_| self.next()).collect())
    }

    /// A vector near `centre`: texts of one topic.
    fn near(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        let noise = self.unit();
        normalised(
            centre
                .iter()
                .zip(noise)
                .map(|(c, n)| c + spread * n)
                .collect(),
        )
    }
}

fn normalised(vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.into_iter().map(|x| x / length).collect()
}

/// Topics of twenty texts each, and a query near every topic.
fn collection(topics: u32) -> (VectorFile, Vec<Vec<f32>>) {
    let mut numbers = Numbers(20_250_302);
    let mut file = VectorFile::new(DIM as u32);
    let mut queries = Vec::new();
    for topic in 0..topics {
        let centre = numbers.unit();
        for _ in 0..20 {
            file.push(
                ChunkSpan {
                    session: topic,
                    start: 0,
                    end: 1,
                },
                &numbers.near(&centre, 0.9),
            );
        }
        queries.push(numbers.near(&centre, 0.5));
    }
    (file, queries)
}

/// The rows by hand: every score in floats, sorted.
fn by_hand(file: &VectorFile, query: &[f32], k: usize) -> Vec<(u32, f32)> {
    let mut scores: Vec<(u32, f32)> = Vec::new();
    for row in 0..file.scales.len() {
        let mut score = 0.0;
        for (a, b) in file.vector(row).iter().zip(query) {
            score += a * b;
        }
        scores.push((row as u32, score));
    }
    scores.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    scores.truncate(k);
    scores
}

fn exact(file: &VectorFile) -> Exact {
    Exact::new(DIM, file.scales.clone(), file.rows.clone())
}

#[test]
fn the_exact_index_loses_nothing() {
    let (file, queries) = collection(20);
    let index = exact(&file);
    for (topic, query) in queries.iter().enumerate() {
        let (found, expected) = (index.search(query, 10), by_hand(&file, query, 10));
        let rows = |hits: &[(u32, f32)]| hits.iter().map(|hit| hit.0).collect::<Vec<_>>();
        assert_eq!(rows(&found), rows(&expected), "query {topic}");
        let off = found
            .iter()
            .zip(&expected)
            .map(|(a, b)| (a.1 - b.1).abs())
            .fold(0.0, f32::max);
        assert!(off < 1e-5, "scores off by {off}");
    }
}

#[test]
fn scores_hardly_differ_from_those_of_unquantised_vectors() {
    let mut numbers = Numbers(7);
    let vector = numbers.unit();
    let query = numbers.near(&vector, 0.4);
    let mut file = VectorFile::new(DIM as u32);
    file.push(
        ChunkSpan {
            session: 0,
            start: 0,
            end: 1,
        },
        &vector,
    );
    let expected: f32 = vector.iter().zip(&query).map(|(a, b)| a * b).sum();
    assert!((exact(&file).search(&query, 1)[0].1 - expected).abs() < 2e-3);
}

#[test]
fn the_graph_finds_nearly_all() {
    let (file, queries) = collection(8);
    let exact = exact(&file);
    // Fewer candidates than by default: the graph has to find its way, and the test is quick.
    let params = HnswParams {
        ef_construction: 40,
        ef_search: 40,
        ..HnswParams::default()
    };
    let graph = exact.to_hnsw(params);
    let mut found = 0;
    for query in &queries {
        let hits = graph.search(query, 10);
        assert!(hits.is_sorted_by(|a, b| a.1 >= b.1));
        let truth = exact.search(query, 10);
        found += truth
            .iter()
            .filter(|(row, _)| hits.iter().any(|hit| hit.0 == *row))
            .count();
    }
    let recall = found as f64 / (10 * queries.len()) as f64;
    assert!(recall >= 0.95, "recall {recall}");
}

#[test]
fn graphs_of_nothing_and_of_one_row_work() {
    let empty = Exact::new(DIM, vec![], vec![]).to_hnsw(HnswParams::default());
    let query = Numbers(3).unit();
    assert_eq!(empty.search(&query, 5), []);
    let mut file = VectorFile::new(DIM as u32);
    file.push(
        ChunkSpan {
            session: 0,
            start: 0,
            end: 1,
        },
        &query,
    );
    let hits = exact(&file)
        .to_hnsw(HnswParams::default())
        .search(&query, 5);
    assert_eq!(hits.len(), 1);
    assert!(hits[0].1 > 0.999);
}
