//! Many histories searched as one, by messages; no model is loaded.

use iba_lab::bench::visible::{Role, Session, Turn};
use iba_lab::embed::{ChunkSpan, VectorFile};
use iba_lab::search::{Hnsw, HnswParams, Rows};
use iba_lab::worker::engine::Engine;
use iba_lab::worker::protocol::{
    Answer, CollectionHit, Event, Failure, FromWorker, Request, SearchMethod, ToWorker,
};
use std::sync::atomic::{AtomicU32, Ordering};

/// Asks and works until the engine is idle.
fn ask(engine: &mut Engine, request: Request, buffers: Vec<Vec<u8>>) -> Result<Answer, Failure> {
    let mut out = engine.accept(ToWorker { id: 7, request }, buffers);
    while !engine.idle() {
        out.extend(engine.step());
    }
    match out.pop().expect("every request is answered").message.event {
        Event::Done { answer } => Ok(answer),
        Event::Failed { failure } => Err(failure),
        other => panic!("a request ended in {other:?}"),
    }
}

fn session(id: &str, text: &str) -> Session {
    Session {
        id: id.into(),
        date: "2025-03-02T19:04:00".to_owned(),
        turns: vec![Turn {
            role: Role::User,
            text: text.to_owned(),
        }],
    }
}

/// One passage a session, with these vectors.
fn file(sessions: &[Session], vectors: &[Vec<f32>]) -> Vec<u8> {
    let mut file = VectorFile::new(vectors[0].len() as u32);
    for (n, (session, vector)) in sessions.iter().zip(vectors).enumerate() {
        let span = ChunkSpan {
            session: n as u32,
            start: 0,
            end: session.render().len() as u32,
        };
        file.push(span, vector);
    }
    file.encode()
}

fn collect(
    part: &str,
    sessions: &[Session],
    vectors: &[Vec<f32>],
    texts: bool,
) -> (Request, Vec<Vec<u8>>) {
    let request = Request::Collect {
        key: "all".to_owned(),
        part: part.to_owned(),
        sessions: if texts { sessions.to_vec() } else { Vec::new() },
        words_only: false,
    };
    (request, vec![file(sessions, vectors)])
}

fn search(words: &str, vector: &[f32], method: SearchMethod) -> Request {
    Request::SearchCollection {
        key: "all".to_owned(),
        queries: vec![words.to_owned()],
        vectors: vec![vector.to_vec()],
        top_k: 2,
        method,
    }
}

fn hits(answer: Answer) -> Vec<CollectionHit> {
    match answer {
        Answer::CollectionHits { mut hits, .. } => hits.remove(0),
        other => panic!("{other:?}"),
    }
}

/// Two users; the second one's second session points along the third axis.
fn two_users(texts: bool) -> Engine {
    let mut engine = Engine::new("test", || 0.0);
    let first = [session("s1", "noodles without chilli")];
    let second = [
        session("s1", "a train to Lisbon"),
        session("s2", "the window seat"),
    ];
    let axis = |n: usize| {
        (0..3)
            .map(|at| f32::from(u8::from(at == n)))
            .collect::<Vec<_>>()
    };
    for (part, sessions, vectors, rows) in [
        ("ann", &first[..], vec![axis(0)], 1),
        ("bob", &second[..], vec![axis(1), axis(2)], 3),
    ] {
        let (request, buffers) = collect(part, sessions, &vectors, texts);
        let answer = ask(&mut engine, request, buffers).unwrap();
        assert!(
            matches!(answer, Answer::Collected { rows: n } if n == rows),
            "{answer:?}"
        );
    }
    engine
}

#[test]
fn a_hit_names_its_history_and_carries_its_text() {
    let mut engine = two_users(true);
    let request = search("", &[0.0, 0.6, 0.8], SearchMethod::Exact);
    let found = hits(ask(&mut engine, request, vec![]).unwrap());
    let told: Vec<_> = found
        .iter()
        .map(|hit| {
            (
                hit.part.as_str(),
                hit.span.session,
                (hit.score * 100.0).round(),
            )
        })
        .collect();
    assert_eq!(told, [("bob", 1, 80.0), ("bob", 0, 60.0)]);
    let passage = found[0].passage.as_ref().expect("the texts came along");
    assert_eq!(
        (passage.id.0.as_str(), passage.text.as_str()),
        ("s2#0", "User: the window seat")
    );
}

#[test]
fn words_are_searched_where_texts_came_along() {
    let request = || search("Noodles in Lisbon?", &[0.0; 3], SearchMethod::Lexical);
    let found = hits(ask(&mut two_users(true), request(), vec![]).unwrap());
    let parts: Vec<_> = found.iter().map(|hit| hit.part.as_str()).collect();
    assert_eq!(
        parts,
        ["ann", "bob"],
        "of two texts with one word each the shorter one"
    );
    let error = ask(&mut two_users(false), request(), vec![]).unwrap_err();
    assert!(error.to_string().contains("vectors only"), "{error}");
}

#[test]
fn words_are_searched_where_texts_were_read_and_not_kept() {
    let mut engine = Engine::new("test", || 0.0);
    for (part, text) in [
        ("ann", "noodles without chilli"),
        ("bob", "a train to Lisbon"),
    ] {
        let sessions = [session("s1", text)];
        let (mut request, buffers) = collect(part, &sessions, &[vec![1.0, 0.0]], true);
        if let Request::Collect { words_only, .. } = &mut request {
            *words_only = true;
        }
        ask(&mut engine, request, buffers).unwrap();
    }
    let request = search("Lisbon", &[1.0, 0.0], SearchMethod::Lexical);
    let found = hits(ask(&mut engine, request, vec![]).unwrap());
    let told: Vec<_> = found.iter().map(|hit| hit.part.as_str()).collect();
    assert_eq!(told, ["bob"]);
    assert_eq!(found[0].passage, None, "the page has the text");
    let request = search("Lisbon", &[1.0, 0.0], SearchMethod::Fused);
    let found = hits(ask(&mut engine, request, vec![]).unwrap());
    assert_eq!(found[0].part, "bob", "equal vectors, so the words decide");
}

#[test]
fn a_history_is_searched_by_words_without_a_model() {
    let mut engine = Engine::new("test", || 0.0);
    let sessions = vec![
        session("s1", "a train to Lisbon"),
        session("s2", "plain noodles"),
    ];
    let spans = [0, 1].map(|n| ChunkSpan {
        session: n,
        start: 0,
        end: sessions[n as usize].render().len() as u32,
    });
    let open = Request::OpenForWords {
        key: "h".to_owned(),
        sessions,
        spans: spans.to_vec(),
    };
    let answer = ask(&mut engine, open, vec![]).unwrap();
    assert!(
        matches!(answer, Answer::HistoryOpen { chunks: 2, .. }),
        "{answer:?}"
    );
    let look = |method| Request::Search {
        key: "h".to_owned(),
        queries: vec!["noodles".to_owned()],
        top_k: 3,
        method,
        dim: 0,
    };
    match ask(&mut engine, look(SearchMethod::Lexical), vec![]).unwrap() {
        Answer::Hits { hits, .. } => assert_eq!(hits[0][0].passage.text, "User: plain noodles"),
        other => panic!("{other:?}"),
    }
    let error = ask(&mut engine, look(SearchMethod::Exact), vec![]).unwrap_err();
    assert!(
        error.to_string().contains("opened for words alone"),
        "{error}"
    );
}

static TOLD: AtomicU32 = AtomicU32::new(0);

fn tell(message: FromWorker) {
    if let (
        7,
        Event::Progress {
            done, total: 60, ..
        },
    ) = (message.id, message.event)
    {
        TOLD.fetch_max(done as u32, Ordering::Relaxed);
    }
}

#[test]
fn a_graph_tells_its_progress_and_finds_what_the_scan_finds() {
    let mut engine = Engine::new("test", || 0.0).telling(tell);
    // Points on a quarter of a circle: neighbours are known by their angle.
    let at = |n: usize| {
        let angle = n as f32 / 60.0;
        vec![angle.cos(), angle.sin()]
    };
    let sessions: Vec<_> = (0..60).map(|n| session(&format!("s{n}"), "text")).collect();
    let vectors: Vec<_> = (0..60).map(at).collect();
    let (request, buffers) = collect("ann", &sessions, &vectors, false);
    ask(&mut engine, request, buffers).unwrap();
    let by_graph = |n: usize| search("", &at(n), SearchMethod::Hnsw);
    let early = ask(&mut engine, by_graph(3), vec![]).unwrap_err();
    assert!(early.to_string().contains("not built yet"), "{early}");
    let build = Request::BuildGraph {
        key: "all".to_owned(),
        params: HnswParams::default(),
    };
    let answer = ask(&mut engine, build, vec![]).unwrap();
    assert!(
        matches!(answer, Answer::GraphBuilt { rows: 60, .. }),
        "{answer:?}"
    );
    assert_eq!(TOLD.load(Ordering::Relaxed), 60);
    for n in [0, 3, 31, 59] {
        let found = hits(ask(&mut engine, by_graph(n), vec![]).unwrap());
        // Neighbours are nearer to each other than bytes can tell.
        assert!(
            found[0].span.session.abs_diff(n as u32) <= 3,
            "{n}: {found:?}"
        );
        let exact = search("", &at(n), SearchMethod::Exact);
        assert_eq!(found, hits(ask(&mut engine, exact, vec![]).unwrap()));
    }
}

#[test]
fn a_graph_that_came_as_a_file_is_taken_if_it_fits_and_the_scan_goes_on_if_not() {
    let at = |n: usize| {
        let angle = n as f32 / 60.0;
        vec![angle.cos(), angle.sin()]
    };
    let sessions: Vec<_> = (0..60).map(|n| session(&format!("s{n}"), "text")).collect();
    let vectors: Vec<_> = (0..60).map(at).collect();
    let bytes = file(&sessions, &vectors);
    let read = VectorFile::decode(&bytes).unwrap();
    let rows = std::sync::Arc::new(Rows::new(2, read.scales, read.rows));
    let name = "ab".repeat(32);
    let made = Hnsw::build(rows, HnswParams::default(), |_, _| {});
    let graph = made.graph().encode(&name);

    let mut engine = Engine::new("test", || 0.0);
    let (request, buffers) = collect("ann", &sessions, &vectors, false);
    ask(&mut engine, request, buffers).unwrap();
    let load = |vectors: &str| Request::LoadGraph {
        key: "all".to_owned(),
        vectors: vectors.to_owned(),
        ef_search: 80,
    };
    for (name, file, expected) in [
        ("cd".repeat(32), graph.clone(), "made for other vectors"),
        (name.clone(), graph[..99].to_vec(), "damaged"),
        (name.clone(), vec![], "some other kind of file"),
    ] {
        let error = ask(&mut engine, load(&name), vec![file]).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let by_graph = || search("", &at(31), SearchMethod::Hnsw);
    assert!(ask(&mut engine, by_graph(), vec![]).is_err());
    let answer = ask(&mut engine, load(&name), vec![graph]).unwrap();
    assert!(
        matches!(answer, Answer::GraphBuilt { rows: 60, params, .. } if params.ef_search == 80),
        "{answer:?}"
    );
    let found = hits(ask(&mut engine, by_graph(), vec![]).unwrap());
    let exact = search("", &at(31), SearchMethod::Exact);
    assert_eq!(found, hits(ask(&mut engine, exact, vec![]).unwrap()));
}

#[test]
fn what_does_not_belong_is_refused_in_a_sentence() {
    let mut engine = two_users(true);
    let other = [session("s1", "x")];
    let (request, buffers) = collect("cleo", &other, &[vec![1.0, 0.0]], true);
    let error = ask(&mut engine, request, buffers).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("'cleo' have 2 components and those before 3"),
        "{error}"
    );
    let error = ask(&mut engine, search("", &[1.0], SearchMethod::Exact), vec![]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("have 3 components and the query's 1"),
        "{error}"
    );
    let (request, buffers) = collect("cleo", &other, &[vec![1.0, 0.0, 0.0]], true);
    let error = ask(&mut engine, request, buffers).unwrap_err();
    assert!(error.to_string().contains("begin another one"), "{error}");
    let mut empty = Engine::new("test", || 0.0);
    let error = ask(&mut empty, search("", &[1.0], SearchMethod::Exact), vec![]).unwrap_err();
    assert!(
        error.to_string().contains("the collection 'all' is empty"),
        "{error}"
    );
}
