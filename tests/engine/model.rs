//! The embedding model against onnxruntime, and the engine driven by messages as a host drives it.
//!
//! The engine's tests share one real model; loading it takes a second or two.

use iba_lab::bench::hidden::Check;
use iba_lab::bench::visible::{Role, Session, Turn};
use iba_lab::embed::{Arithmetic, Chunking, Embedder, ModelSpec, VectorFile};
use iba_lab::search::dot::dot_f32;
use iba_lab::worker::engine::{Engine, Outgoing};
use iba_lab::worker::protocol::{
    Answer, Event, Failure, PROTOCOL, Request, RequestId, SearchMethod, ToWorker,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::LazyLock;

pub const MODEL: &str = "public/models/all-minilm-l6-v2";
/// Of `model.json`.
pub const MAX_TOKENS: u32 = 256;

pub fn file(path: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn model_files() -> [Vec<u8>; 2] {
    ["model_int8.onnx", "tokenizer.json"].map(|name| file(&format!("{MODEL}/{name}")))
}

/// One model for all tests of this binary.
pub static EMBEDDER: LazyLock<Embedder> = LazyLock::new(|| {
    let [onnx, tokenizer] = model_files();
    Embedder::load(onnx, &tokenizer, ModelSpec::plain(MAX_TOKENS)).expect("the shipped model loads")
});

/// Of two vectors of any length.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    dot_f32(a, b) / (dot_f32(a, a) * dot_f32(b, b)).sqrt()
}

// The model.

#[derive(Deserialize)]
struct Reference {
    max_tokens: u32,
    items: Vec<ReferenceItem>,
}

#[derive(Deserialize)]
struct ReferenceItem {
    text: String,
    ids: Vec<u32>,
    /// Float32 arithmetic, as the file says and as the engine computes.
    plain: Vec<f32>,
    /// With onnxruntime's optimisations, which quantise activations as well.
    optimised: Vec<f32>,
}

fn reference() -> Reference {
    serde_json::from_slice(&file("tests/data/minilm_reference.json"))
        .expect("the reference is JSON")
}

#[test]
fn token_ids_equal_the_reference() {
    let Reference { max_tokens, items } = reference();
    for item in items {
        let encoded = EMBEDDER.tokenizer().encode(&item.text, max_tokens).unwrap();
        assert_eq!(encoded.ids, item.ids, "{:?}", item.text);
    }
}

#[test]
fn float32_vectors_are_onnxruntimes() {
    let [onnx, tokenizer] = model_files();
    let spec = ModelSpec::plain(MAX_TOKENS).with(Arithmetic::Float32);
    let exact = Embedder::load(onnx, &tokenizer, spec).expect("the shipped model loads");
    assert_eq!(exact.arithmetic(), Arithmetic::Float32);
    for item in reference().items {
        let found = exact.embed(&item.text).unwrap();
        let plain = cosine(&found.vector, &item.plain);
        assert!(plain >= 0.999_99, "{plain} for {:?}", item.text);
        // For the empty text onnxruntime differs from itself by this much: its two vectors have a
        // cosine of 0.998998.
        let least = if item.text.is_empty() { 0.9989 } else { 0.999 };
        let optimised = cosine(&found.vector, &item.optimised);
        assert!(optimised >= least, "{optimised} for {:?}", item.text);
    }
}

#[test]
fn int8_vectors_stay_close_to_float32() {
    assert_eq!(
        EMBEDDER.arithmetic(),
        Arithmetic::Int8,
        "{:?}",
        EMBEDDER.fallback()
    );
    let (mut worst, mut sum) = (1f32, 0.0);
    let items = reference().items;
    for item in &items {
        let found = EMBEDDER.embed(&item.text).unwrap();
        let plain = cosine(&found.vector, &item.plain);
        (worst, sum) = (worst.min(plain), sum + plain);
        let length = dot_f32(&found.vector, &found.vector).sqrt();
        assert!(
            (length - 1.0).abs() < 1e-5,
            "length {length} for {:?}",
            item.text
        );
        assert_eq!(found.tokens as usize, item.ids.len());
    }
    let mean = sum / items.len() as f32;
    assert!(
        worst >= 0.995 && mean >= 0.999,
        "worst {worst}, mean {mean}"
    );
}

#[test]
fn texts_embedded_together_and_alone_have_the_same_vectors() {
    let items = reference().items;
    let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
    for (embedding, text) in EMBEDDER.embed_all(&texts).unwrap().iter().zip(&texts) {
        assert_eq!(embedding, &EMBEDDER.embed(text).unwrap(), "{text:?}");
    }
}

#[test]
fn a_text_beyond_the_window_is_cut_and_says_so() {
    let long = "记忆 ".repeat(600);
    let encoded = EMBEDDER.tokenizer().encode(&long, MAX_TOKENS).unwrap();
    assert_eq!(
        (encoded.ids.len(), encoded.ids.last()),
        (256, Some(&102)),
        "ends in [SEP]"
    );
    let embedding = EMBEDDER.embed(&long).unwrap();
    assert!(embedding.truncated);
    assert_eq!(embedding.tokens, 256);
    assert!(!EMBEDDER.embed("记忆").unwrap().truncated);
}

#[test]
fn the_descriptor_describes_the_files() {
    let card: serde_json::Value =
        serde_json::from_slice(&file(&format!("{MODEL}/model.json"))).unwrap();
    for part in ["onnx", "tokenizer"] {
        let bytes = file(&format!("{MODEL}/{}", card[part]["path"].as_str().unwrap()));
        assert_eq!(card[part]["bytes"], bytes.len());
        assert_eq!(
            card[part]["sha256"],
            format!("{:x}", Sha256::digest(&bytes))
        );
    }
    assert_eq!(card["dim"], EMBEDDER.dim());
    assert_eq!(card["max_tokens"], MAX_TOKENS);
}

#[test]
fn a_file_that_is_no_model_is_named() {
    let [onnx, tokenizer] = model_files();
    for broken in [&b"<!doctype html>"[..], &onnx[..100_000]] {
        let error = Embedder::load(broken.to_vec(), &tokenizer, ModelSpec::plain(MAX_TOKENS))
            .err()
            .expect("must not load");
        assert!(
            error
                .to_string()
                .starts_with("the ONNX file could not be read"),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
}

#[test]
fn bulk_embedding_is_what_one_by_one_gives() {
    let sessions = sessions();
    let file = iba_lab::embed::embed_sessions(&EMBEDDER, &sessions, SMALL, &|_, _| ()).unwrap();
    let passages = iba_lab::embed::passages(&sessions, &file.spans).unwrap();
    assert!(
        passages.len() > sessions.len(),
        "the long session takes several chunks"
    );
    for (row, passage) in passages.iter().enumerate() {
        let alone = EMBEDDER.embed(&passage.text).unwrap().vector;
        assert!(
            cosine(&file.vector(row), &alone) > 0.999,
            "{}",
            passage.id.0
        );
    }
}

// The engine.

const SMALL: Chunking = Chunking {
    unit: iba_lab::embed::ChunkUnit::Tokens,
    tokens: 24,
    overlap: 6,
};

fn session(id: &str, user: &str, assistant: &str) -> Session {
    let turn = |role, text: &str| Turn {
        role,
        text: text.to_owned(),
    };
    let turns = vec![turn(Role::User, user), turn(Role::Assistant, assistant)];
    Session {
        id: id.into(),
        date: "2025-03-02T19:04:00".to_owned(),
        turns,
    }
}

fn sessions() -> Vec<Session> {
    vec![
        session("s1", "What is the capital of Portugal?", "Lisbon."),
        session(
            "s2",
            "Order dinner, please: noodles without chilli, nothing fried, and no meat at all tonight.",
            "I found a noodle shop nearby that cooks plain noodles with vegetables and leaves the chilli out.",
        ),
        session("s3", "The cat ate my houseplant again.", "Poor plant!"),
    ]
}

/// An engine, and a request id for each message sent.
struct Driver {
    engine: Engine,
    next: RequestId,
}

impl Driver {
    fn new() -> Self {
        Self {
            engine: Engine::new("test", || 0.0),
            next: 1,
        }
    }

    fn with_model() -> Self {
        let mut driver = Self::new();
        driver
            .ask(load(), model_files().to_vec())
            .expect("the shipped model loads");
        driver
    }

    fn send(&mut self, request: Request, buffers: Vec<Vec<u8>>) -> (RequestId, Vec<Outgoing>) {
        let id = self.next;
        self.next += 1;
        (id, self.engine.accept(ToWorker { id, request }, buffers))
    }

    fn finish(&mut self) -> Vec<Outgoing> {
        let mut out = Vec::new();
        while !self.engine.idle() {
            out.extend(self.engine.step());
        }
        out
    }

    /// Sends, works until idle, and returns the answer with its buffers.
    fn ask(
        &mut self,
        request: Request,
        buffers: Vec<Vec<u8>>,
    ) -> Result<(Answer, Vec<Vec<u8>>), Failure> {
        let (id, mut out) = self.send(request, buffers);
        out.extend(self.finish());
        let last = out.pop().expect("every request is answered");
        assert_eq!(last.message.id, id);
        match last.message.event {
            Event::Done { answer } => Ok((answer, last.buffers)),
            Event::Failed { failure } => Err(failure),
            other => panic!("a request ended in {other:?}"),
        }
    }

    fn hits(&mut self, query: &str, method: SearchMethod) -> Vec<(String, f32)> {
        let request = search("h", query, method);
        match self.ask(request, vec![]).expect("the history is open").0 {
            Answer::Hits { hits, .. } => hits[0]
                .iter()
                .map(|hit| (hit.passage.id.0.clone(), hit.score))
                .collect(),
            other => panic!("{other:?}"),
        }
    }
}

fn load() -> Request {
    Request::LoadModel {
        name: "minilm".to_owned(),
        pieces: Vec::new(),
        spec: ModelSpec::plain(MAX_TOKENS),
    }
}

fn open(shipped_vectors: bool) -> Request {
    Request::OpenHistory {
        key: "h".to_owned(),
        sessions: sessions(),
        chunking: SMALL,
        shipped_vectors,
        foreign: false,
    }
}

fn search(key: &str, query: &str, method: SearchMethod) -> Request {
    Request::Search {
        key: key.to_owned(),
        queries: vec![query.to_owned()],
        top_k: 2,
        method,
        dim: 0,
    }
}

fn message(failure: Failure) -> String {
    failure.to_string()
}

/// Id and kind of each message, for example `2 failed`.
fn summary(out: &[Outgoing]) -> Vec<String> {
    let line = |outgoing: &Outgoing| {
        let kind = match &outgoing.message.event {
            Event::Progress { .. } => "progress",
            Event::Done { .. } => "done",
            Event::Failed {
                failure: Failure::Cancelled,
            } => "cancelled",
            Event::Failed { .. } => "failed",
            Event::Crashed { .. } => "crashed",
        };
        format!("{} {kind}", outgoing.message.id)
    };
    out.iter().map(line).collect()
}

#[test]
fn a_history_is_embedded_searched_and_kept_for_the_next_visit() {
    let mut driver = Driver::with_model();
    let (id, _) = driver.send(open(false), vec![]);
    let mut out = driver.finish();
    let last = out.pop().unwrap();
    let told = out
        .iter()
        .filter_map(|message| match &message.message.event {
            Event::Progress { done, total, .. } if message.message.id == id => {
                Some((*done, *total))
            }
            _ => None,
        });
    let told: Vec<_> = told.collect();
    let Event::Done {
        answer: Answer::HistoryOpen {
            chunks, embedded, ..
        },
    } = last.message.event
    else {
        panic!("{last:?}")
    };
    assert_eq!(embedded, chunks);
    let cut: Vec<_> = (1..=3).map(|n| (n, 3)).collect();
    assert_eq!(told[..3], cut, "one for each session");
    let all = u64::from(chunks);
    assert_eq!(told.last(), Some(&(all, all)), "and up to the last passage");

    let hits = driver.hits("food without spices", SearchMethod::Exact);
    assert!(hits.iter().all(|(id, _)| id.starts_with("s2#")), "{hits:?}");
    assert_eq!(
        driver.hits("food without spices", SearchMethod::Hnsw)[0].0,
        hits[0].0
    );

    // The next visit: the same vectors, nothing to embed, no model needed to open.
    let kept = last.buffers[0].clone();
    let mut again = Driver::new();
    let (answer, _) = again.ask(open(true), vec![kept]).unwrap();
    let Answer::HistoryOpen {
        embedded: 0,
        chunks: found,
        ..
    } = answer
    else {
        panic!("{answer:?}")
    };
    assert_eq!(found, chunks);
    again.ask(load(), model_files().to_vec()).unwrap();
    assert_eq!(again.hits("food without spices", SearchMethod::Exact), hits);
}

#[test]
fn a_cancel_between_two_passages_ends_the_request() {
    let mut driver = Driver::with_model();
    let (target, _) = driver.send(open(false), vec![]);
    // Three sessions are cut, the stage changes, a batch starts, one half layer is done.
    let steps: Vec<_> = (0..6).map(|_| driver.engine.step().len()).collect();
    assert_eq!(steps, [1, 1, 1, 0, 0, 0]);
    assert!(!driver.engine.idle());
    let (cancel, out) = driver.send(Request::Cancel { target }, vec![]);
    assert_eq!(
        summary(&out),
        [format!("{target} cancelled"), format!("{cancel} done")]
    );
    assert!(driver.engine.idle());
    let unknown = driver
        .ask(search("h", "x", SearchMethod::Exact), vec![])
        .unwrap_err();
    assert!(message(unknown).contains("'h' is not open"));
    // A cancel that comes too late is no error.
    assert!(matches!(
        driver.ask(Request::Cancel { target }, vec![]),
        Ok((Answer::Cancelled, _))
    ));
}

#[test]
fn short_requests_overtake_long_ones_they_do_not_depend_on() {
    let mut driver = Driver::with_model();
    let (opening, _) = driver.send(open(false), vec![]);
    let (waits, _) = driver.send(search("h", "noodles", SearchMethod::Exact), vec![]);
    let check = Request::Check {
        output: "one two".into(),
        checks: vec![Check::FirstPerson { expect: false }],
    };
    let (check, _) = driver.send(check, vec![]);
    let (embed, _) = driver.send(
        Request::Embed {
            texts: vec!["noodles".to_owned()],
        },
        vec![],
    );
    let order: Vec<_> = summary(&driver.finish())
        .into_iter()
        .filter(|line| line.ends_with("done"))
        .collect();
    assert_eq!(
        order,
        [check, embed, opening, waits].map(|id| format!("{id} done"))
    );
}

#[test]
fn a_query_does_not_wait_for_the_passage_under_way() {
    let mut driver = Driver::with_model();
    driver.ask(open(false), vec![]).unwrap();
    let texts = vec!["The cat ate my houseplant again. ".repeat(60); 3];
    let (background, _) = driver.send(Request::EmbedPassages { texts }, vec![]);
    // The first passage is in the middle of its twelve half layers.
    for _ in 0..6 {
        assert!(driver.engine.step().is_empty());
    }
    let (query, _) = driver.send(search("h", "noodles", SearchMethod::Exact), vec![]);
    let mut steps = 0;
    let first = loop {
        steps += 1;
        if let Some(line) = summary(&driver.engine.step()).pop()
            && line.ends_with("done")
        {
            break line;
        }
    };
    assert_eq!(first, format!("{query} done"));
    assert!(
        steps <= 15,
        "a start, twelve half layers, the search: {steps}"
    );
    let last = summary(&driver.finish()).pop().unwrap();
    assert_eq!(last, format!("{background} done"));
}

#[test]
fn a_history_is_measured_in_small_steps() {
    let mut driver = Driver::with_model();
    let plenty = "The cat ate my houseplant again, and nobody saw it. ".repeat(40);
    let sessions: Vec<_> = (0..20)
        .map(|n| session(&format!("s{n}"), &plenty, &plenty))
        .collect();
    let cut = |sessions: &[Session]| Request::CutHistory {
        sessions: sessions.to_vec(),
        chunking: Chunking::default(),
    };
    let (target, _) = driver.send(cut(&sessions), vec![]);
    for _ in 0..=sessions.len() {
        driver.engine.step();
    }
    // All sessions are cut; their passages are some eighty thousand bytes, and a step measures few.
    let mut steps = 0;
    while !driver.engine.idle() && steps < 8 {
        driver.engine.step();
        steps += 1;
    }
    assert!(!driver.engine.idle(), "done after {steps} steps");
    let (query, _) = driver.send(
        Request::Embed {
            texts: vec!["noodles".to_owned()],
        },
        vec![],
    );
    let first = loop {
        let done = summary(&driver.engine.step());
        if let Some(line) = done.into_iter().find(|line| line.ends_with("done")) {
            break line;
        }
    };
    assert_eq!(first, format!("{query} done"));
    let (cancel, out) = driver.send(Request::Cancel { target }, vec![]);
    assert_eq!(
        summary(&out),
        [format!("{target} cancelled"), format!("{cancel} done")]
    );

    // What is counted is what is cut.
    let (answer, _) = driver.ask(cut(&sessions[..2]), vec![]).unwrap();
    let Answer::Cut {
        texts, too_long, ..
    } = answer
    else {
        panic!("{answer:?}")
    };
    let truncated = texts
        .iter()
        .filter(|text| EMBEDDER.embed(text).unwrap().truncated);
    assert_eq!(too_long as usize, truncated.count());
    assert!(
        too_long > 0,
        "chunks of 256 tokens leave no room for two more"
    );
}

#[test]
fn text_past_the_limit_is_counted_also_when_it_is_known() {
    let mut driver = Driver::with_model();
    driver.ask(open(false), vec![]).unwrap();
    let long = "noodles without chilli and nothing fried ".repeat(100);
    for visit in ["first", "second"] {
        let texts = vec![long.clone(), "noodles".to_owned()];
        let (answer, _) = driver.ask(Request::Embed { texts }, vec![]).unwrap();
        let Answer::Vectors { cut, .. } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(cut, 1, "{visit} time");
        for (query, wanted) in [(long.as_str(), 1), ("noodles", 0)] {
            let request = search("h", query, SearchMethod::Exact);
            let (answer, _) = driver.ask(request, vec![]).unwrap();
            let Answer::Hits { cut, .. } = answer else {
                panic!("{answer:?}")
            };
            assert_eq!(cut, wanted, "{visit} time");
        }
    }
    let request = search("h", &long, SearchMethod::Lexical);
    let (answer, _) = driver.ask(request, vec![]).unwrap();
    assert!(
        matches!(answer, Answer::Hits { cut: 0, .. }),
        "words have no limit"
    );
}

#[test]
fn a_history_with_vectors_opens_beside_passages_that_are_embedded() {
    let mut driver = Driver::with_model();
    let (_, kept) = driver.ask(open(false), vec![]).unwrap();
    let texts = vec!["The cat ate my houseplant again. ".repeat(60); 3];
    let (background, _) = driver.send(Request::EmbedPassages { texts }, vec![]);
    driver.engine.step();
    let (opening, _) = driver.send(open(true), kept);
    let order: Vec<_> = summary(&driver.finish())
        .into_iter()
        .filter(|line| line.ends_with("done"))
        .collect();
    assert_eq!(order, [opening, background].map(|id| format!("{id} done")));
}

#[test]
fn a_history_cut_here_and_embedded_elsewhere_is_the_same() {
    let mut driver = Driver::with_model();
    let (_, whole) = driver.ask(open(false), vec![]).unwrap();
    let cut = Request::CutHistory {
        sessions: sessions(),
        chunking: SMALL,
    };
    let (
        Answer::Cut {
            spans,
            texts,
            too_long,
        },
        _,
    ) = driver.ask(cut, vec![]).unwrap()
    else {
        panic!("a cut is answered by chunks")
    };
    assert_eq!(too_long, 0, "chunks this small fit the model");
    let mut other = Driver::with_model();
    let embed = Request::EmbedPassages { texts };
    let (Answer::PassageVectors { dim, cut: 0, .. }, bytes) = other.ask(embed, vec![]).unwrap()
    else {
        panic!("passages are answered by vectors")
    };
    let mut file = VectorFile::new(dim);
    let floats: Vec<f32> = bytes[0]
        .as_chunks()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect();
    for (span, vector) in spans.into_iter().zip(floats.chunks(dim as usize)) {
        file.push(span, vector);
    }
    assert_eq!(file.encode(), whole[0]);
}

#[test]
fn words_are_searched_without_a_model_and_fused_with_one() {
    let mut driver = Driver::with_model();
    let (_, kept) = driver.ask(open(false), vec![]).unwrap();
    let mut bare = Driver::new();
    bare.ask(open(true), kept).unwrap();
    let hits = bare.hits("my houseplant", SearchMethod::Lexical);
    assert_eq!(hits[0].0, "s3#0");
    let hits = driver.hits("meals, no chilli", SearchMethod::Fused);
    assert!(hits[0].0.starts_with("s2#"), "{hits:?}");
}

#[test]
fn embedding_a_text_again_gives_the_same_vector() {
    let mut driver = Driver::with_model();
    let texts = vec!["noodles".to_owned(), String::new(), "noodles".to_owned()];
    let (answer, _) = driver.ask(Request::Embed { texts }, vec![]).unwrap();
    let Answer::Vectors { vectors, .. } = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(vectors[0], vectors[2]);
    assert_eq!(vectors[0], EMBEDDER.embed("noodles").unwrap().vector);
    assert_eq!(vectors[1], EMBEDDER.embed("").unwrap().vector);
}

#[test]
fn the_handshake_compares_versions() {
    let mut driver = Driver::new();
    let greeting = driver.engine.greeting();
    assert_eq!(summary(&[greeting]), ["0 done"]);
    let (answer, _) = driver
        .ask(Request::Hello { protocol: PROTOCOL }, vec![])
        .unwrap();
    assert!(matches!(
        answer,
        Answer::Ready {
            protocol: PROTOCOL,
            ..
        }
    ));
    let other = driver
        .ask(
            Request::Hello {
                protocol: PROTOCOL + 1,
            },
            vec![],
        )
        .unwrap_err();
    assert!(message(other).contains("reload the page"));
}

#[test]
fn what_cannot_be_done_is_answered_with_a_reason() {
    let mut driver = Driver::new();
    let mut wrong = VectorFile::new(7);
    wrong.push(
        iba_lab::embed::ChunkSpan {
            session: 0,
            start: 0,
            end: 4,
        },
        &[0.5; 7],
    );
    let texts = vec!["x".to_owned()];
    for (request, buffers, part) in [
        (load(), vec![], "takes two files"),
        (
            load(),
            vec![vec![1], vec![2]],
            "the tokenizer could not be read",
        ),
        (open(false), vec![], "no embedding model is loaded"),
        (open(true), vec![], "no vector file came"),
        (
            open(true),
            vec![b"<html>".to_vec()],
            "some other kind of file",
        ),
        (
            search("h", "x", SearchMethod::Exact),
            vec![],
            "'h' is not open",
        ),
        (
            Request::Embed { texts },
            vec![],
            "no embedding model is loaded",
        ),
    ] {
        let said = message(driver.ask(request, buffers).unwrap_err());
        assert!(said.contains(part), "{said:?} lacks {part:?}");
    }
    driver
        .ask(open(true), vec![wrong.encode()])
        .expect("without a model any dimension opens");
    driver.ask(load(), model_files().to_vec()).unwrap();
    let said = message(
        driver
            .ask(search("h", "x", SearchMethod::Exact), vec![])
            .unwrap_err(),
    );
    assert!(
        said.contains("7 components and the loaded model makes 384"),
        "{said}"
    );
}

#[test]
fn text_that_is_no_request_is_answered_under_its_id() {
    let mut driver = Driver::new();
    for (json, id) in [("{", 0), (r#"{"id":9,"request":{"type":"dance"}}"#, 9)] {
        let out = driver.engine.accept_json(json, vec![]);
        assert_eq!(summary(&out), [format!("{id} failed")]);
    }
    let hello = format!(r#"{{"id":3,"request":{{"type":"hello","protocol":{PROTOCOL}}}}}"#);
    assert_eq!(
        summary(&driver.engine.accept_json(&hello, vec![])),
        ["3 done"]
    );
}
