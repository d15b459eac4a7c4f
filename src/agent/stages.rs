//! Each tool as a recorded stage: begun, shared or carried out, and kept whatever came of it.

use super::facets::{QUESTION, TASK};
use super::memo;
use super::mind::{Ctx, FilledCall, Material, Mind, StageLog};
use super::pipeline::{Job, Supplied, not_supplied};
use super::trace::{
    AlignmentPlan, CompactItem, Dropped, ExtractedPreference, Fit, Output, Query, QueryHits,
    ScoredPassage, StageId, StageOutcome, StageRecord,
};
use super::{fit, redundancy, select};
use crate::bench::taxonomy::Action;
use crate::bench::visible::History;
use crate::embed::{Passage, PassageId};
use crate::prompts;
use crate::run::record::ModelRef;
use crate::run::{Env, RunEvent, StepError};
use serde::Serialize;
use serde_json::{Value, json};

pub(super) type Step<T> = Result<T, StepError>;

/// A run under way.
pub(super) struct Run<'a, E, M> {
    pub ctx: Ctx<'a, E>,
    pub mind: &'a M,
    pub job: &'a Job<'a>,
    pub stages: Vec<StageRecord>,
}

/// A stage that began and has not ended.
pub(super) struct Open {
    pub stage: StageId,
    pub started_ms: f64,
    pub key: String,
    pub log: StageLog,
}

impl<'a, E: Env, M: Mind> Run<'a, E, M> {
    pub fn new(env: &'a E, mind: &'a M, job: &'a Job<'a>) -> Self {
        let ctx = Ctx {
            env,
            instance: job.instance,
            params: job.params,
            edits: job.edits,
        };
        Self {
            ctx,
            mind,
            job,
            stages: Vec::new(),
        }
    }

    /// The first queries of every retrieval: the task, or each question about the user.
    pub fn task_queries(&self) -> Vec<Query> {
        if self.job.questions.is_empty() {
            let text = self.ctx.instance.task.text();
            let facet = TASK.to_owned();
            return vec![Query { facet, text }];
        }
        let query = |text: &String| Query {
            facet: QUESTION.to_owned(),
            text: text.clone(),
        };
        self.job.questions.iter().map(query).collect()
    }

    /// Facet queries behind the task.
    pub async fn query_expansion(&mut self) -> Step<Vec<Query>> {
        let (ctx, mind, first) = (self.ctx, self.mind, self.task_queries());
        let max = ctx.params.max_queries;
        let reads = self.reads(&["query_expansion"], json!(max));
        let key = self.key(StageId::QueryExpansion, &reads, &first);
        let work = async |log: &mut StageLog| {
            let expanded = mind.expand(&ctx, log).await?;
            let expanded = expanded.into_iter().take(max as usize);
            Ok(first.into_iter().chain(expanded).collect())
        };
        let outcome = |queries: &Vec<Query>| StageOutcome::Queries {
            queries: queries.clone(),
        };
        let read = |outcome| match outcome {
            StageOutcome::Queries { queries } => Some(queries),
            _ => None,
        };
        self.stage(StageId::QueryExpansion, key, work, outcome, read)
            .await
    }

    /// The passages nearest to each query.
    pub async fn similarity_retrieval(&mut self, queries: Vec<Query>) -> Step<Vec<QueryHits>> {
        let ctx = self.ctx;
        let top_k = ctx.params.top_k;
        let key = self.key(StageId::SimilarityRetrieval, &json!(top_k), &queries);
        let work = async |log: &mut StageLog| {
            let texts: Vec<String> = queries.iter().map(|query| query.text.clone()).collect();
            let hits = ctx.env.search(&texts, top_k).await?;
            let pairs = queries.into_iter().zip(hits);
            let lists: Vec<QueryHits> = pairs
                .map(|(query, hits)| QueryHits { query, hits })
                .collect();
            if lists.iter().all(|list| list.hits.is_empty()) {
                log.note("no passage was found: the history is empty");
            }
            Ok(lists)
        };
        let outcome = |lists: &Vec<QueryHits>| StageOutcome::Retrieved {
            lists: lists.clone(),
        };
        let read = |outcome| match outcome {
            StageOutcome::Retrieved { lists } => Some(lists),
            _ => None,
        };
        self.stage(StageId::SimilarityRetrieval, key, work, outcome, read)
            .await
    }

    /// Passages that do not repeat one another. Local and quick, so it is never shared.
    pub fn redundancy_filtering(&mut self, passages: Vec<Passage>) -> Step<Vec<Passage>> {
        let mut open = self.begin(StageId::RedundancyFiltering, String::new());
        let count = passages.len();
        open.log.note(match count {
            1 => "1 different passage came in".to_owned(),
            _ => format!("{count} different passages came in"),
        });
        let (kept, dropped) = redundancy::filter(passages, self.ctx.params.near_duplicate);
        self.end(open, Ok((kept, dropped)), |(kept, dropped)| {
            StageOutcome::Filtered {
                kept: kept.clone(),
                dropped: dropped.clone(),
            }
        })
        .map(|(kept, _)| kept)
    }

    /// The most salient passages. Scores can be shared; the cut is made anew, so that another
    /// threshold costs nothing.
    pub async fn salience_reranking(&mut self, passages: Vec<Passage>) -> Step<Vec<Passage>> {
        let (ctx, mind) = (self.ctx, self.mind);
        let reads = self.reads(&["salience"], Value::Null);
        let key = self.key(StageId::SalienceReranking, &reads, &passages);
        let known = self.job.memo.get(&key);
        let mut open = self.begin(StageId::SalienceReranking, key);
        let (scored, shared_from) = match known.and_then(ranked) {
            Some((scored, shared)) => {
                open.log.calls = shared.calls;
                (Ok(scored), shared.shared_from)
            }
            None if passages.is_empty() => (Ok(Vec::new()), None),
            None => (mind.salience(&ctx, &passages, &mut open.log).await, None),
        };
        let cut = scored.map(|scored| {
            let (min, max) = (ctx.params.min_salience, ctx.params.max_passages as usize);
            let cut = select::select(&scored, min, max);
            open.log.notes.extend(cut.notes.clone());
            (scored, cut)
        });
        let outcome =
            |(scored, cut): &(Vec<ScoredPassage>, select::Selection)| StageOutcome::Ranked {
                scored: scored.clone(),
                kept: cut.kept.clone(),
                dropped: cut.dropped.clone(),
            };
        let (_, cut) = self.end_shared(open, cut, outcome, shared_from)?;
        Ok(take(passages, &cut.kept))
    }

    /// Notes on the passages, which go in by date, so that a later change is read after what it
    /// changes.
    pub async fn compact_evidence(&mut self, mut passages: Vec<Passage>) -> Step<Vec<CompactItem>> {
        let (ctx, mind) = (self.ctx, self.mind);
        passages.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
        let reads = self.reads(&["compact_evidence"], Value::Null);
        let key = self.key(StageId::CompactEvidence, &reads, &passages);
        let given = passages.clone();
        let work = async |log: &mut StageLog| match given.is_empty() {
            true => Ok(Vec::new()),
            false => mind.compact(&ctx, &given, log).await,
        };
        let outcome = |items: &Vec<CompactItem>| StageOutcome::Compacted {
            items: items.clone(),
            dropped: left_out(&passages, items),
        };
        let read = |outcome| match outcome {
            StageOutcome::Compacted { items, .. } => Some(items),
            _ => None,
        };
        self.stage(StageId::CompactEvidence, key, work, outcome, read)
            .await
    }

    pub async fn preference_extraction(
        &mut self,
        evidence: &[CompactItem],
    ) -> Step<Vec<ExtractedPreference>> {
        let (ctx, mind) = (self.ctx, self.mind);
        let reads = self.reads(&["preference_extraction"], Value::Null);
        let key = self.key(StageId::PreferenceExtraction, &reads, &evidence);
        let work = async |log: &mut StageLog| match evidence.is_empty() {
            true => Ok(Vec::new()),
            false => mind.extract(&ctx, evidence, log).await,
        };
        let outcome = |items: &Vec<ExtractedPreference>| StageOutcome::Preferences {
            items: items.clone(),
        };
        let read = |outcome| match outcome {
            StageOutcome::Preferences { items } => Some(items),
            _ => None,
        };
        self.stage(StageId::PreferenceExtraction, key, work, outcome, read)
            .await
    }

    pub async fn task_preference_alignment(
        &mut self,
        preferences: &[ExtractedPreference],
    ) -> Step<AlignmentPlan> {
        let (ctx, mind) = (self.ctx, self.mind);
        let prompt = match ctx.instance.api.is_some() {
            true => "align_call",
            false => "align_text",
        };
        let reads = self.reads(&[prompt], Value::Null);
        let key = self.key(StageId::TaskPreferenceAlignment, &reads, &preferences);
        let work = async |log: &mut StageLog| match preferences.is_empty() {
            true => {
                log.note("no preference was found, so the plan is empty");
                Ok(AlignmentPlan::default())
            }
            false => mind.align(&ctx, preferences, log).await,
        };
        let outcome = |plan: &AlignmentPlan| StageOutcome::Plan { plan: plan.clone() };
        let read = |outcome| match outcome {
            StageOutcome::Plan { plan } => Some(plan),
            _ => None,
        };
        self.stage(StageId::TaskPreferenceAlignment, key, work, outcome, read)
            .await
    }

    /// Evidence handed over in place of retrieval.
    pub fn given_evidence(&mut self) -> Step<Vec<Passage>> {
        let Supplied::Evidence(passages) = self.job.supplied else {
            return Err(not_supplied("the evidence"));
        };
        let open = self.begin(StageId::GivenEvidence, String::new());
        self.end(open, Ok(passages.to_vec()), |passages| {
            StageOutcome::Given {
                passages: passages.clone(),
            }
        })
    }

    /// The choice of sessions that fit the context window.
    pub fn history_fitting(&mut self, history: &History) -> Fit {
        let mut open = self.begin(StageId::HistoryFitting, String::new());
        let (params, request) = (self.ctx.params, self.request());
        let (answer, window) = (params.max_output_tokens, params.context_tokens);
        let fitted = fit::fit(history, &request, answer.into(), window.into());
        open.log.notes.extend(fit::note(&fitted));
        let outcome = |fit: &Fit| StageOutcome::Fitted { fit: fit.clone() };
        self.end(open, Ok(fitted.clone()), outcome)
            .unwrap_or(fitted)
    }

    /// What stands beside the history in a prompt.
    fn request(&self) -> String {
        let instance = self.ctx.instance;
        let api = instance.api.as_ref().map(prompts::quote::api);
        let questions = self.job.questions.join("\n");
        format!(
            "{}\n{}\n{questions}",
            instance.task.text(),
            api.unwrap_or_default()
        )
    }

    /// The stage that ends this run.
    pub fn head(&self) -> StageId {
        match self.ctx.instance.action {
            _ if !self.job.questions.is_empty() => StageId::QuestionAnswering,
            Action::GenerateText => StageId::TextGeneration,
            Action::CallApi => StageId::ParameterFilling,
        }
    }

    /// Output head A or B, or answers in QA mode.
    pub async fn output_head(&mut self, material: Material<'_>) -> Step<Output> {
        let (ctx, mind, questions) = (self.ctx, self.mind, self.job.questions);
        let head = self.head();
        let reads = self.reads(&[prompt_of(head, material)], Value::Null);
        let key = self.key(head, &reads, &inputs(material));
        let work = async |log: &mut StageLog| match head {
            StageId::QuestionAnswering => {
                let answers = mind.answer(&ctx, questions, material, log).await?;
                Ok(answered(questions, &answers))
            }
            StageId::ParameterFilling => {
                let FilledCall { slots, description } =
                    mind.fill_slots(&ctx, material, log).await?;
                Ok(Output::CallApi { slots, description })
            }
            _ => {
                let text = mind.write_text(&ctx, material, log).await?;
                Ok(Output::GenerateText { text })
            }
        };
        let outcome = |output: &Output| StageOutcome::Output {
            output: output.clone(),
        };
        let read = |outcome| match outcome {
            StageOutcome::Output { output } => Some(output),
            _ => None,
        };
        self.stage(head, key, work, outcome, read).await
    }

    /// What a stage of this mind depends on beside its inputs: rules depend on neither sampling nor
    /// prompts.
    fn reads(&self, prompts: &[&str], more: Value) -> Value {
        let (model, params) = (self.mind.model(), self.ctx.params);
        if model == ModelRef::Embedded {
            return json!([model, more]);
        }
        let hash = |id: &&str| prompts::hash_of(id, self.ctx.edits);
        let hashes: Vec<String> = prompts.iter().map(hash).collect();
        let sampling = json!([params.temperature, params.seed, params.max_output_tokens]);
        json!([model, more, sampling, hashes])
    }

    fn key(&self, stage: StageId, reads: &Value, inputs: &impl Serialize) -> String {
        memo::key(self.job.scope, stage, reads, inputs)
    }

    /// Takes a stage over if its result is known, else carries it out; records it either way.
    async fn stage<T>(
        &mut self,
        stage: StageId,
        key: String,
        work: impl AsyncFnOnce(&mut StageLog) -> Step<T>,
        outcome: impl Fn(&T) -> StageOutcome,
        read: impl Fn(StageOutcome) -> Option<T>,
    ) -> Step<T> {
        let known = self.job.memo.get(&key);
        let mut open = self.begin(stage, key);
        let taken = known.and_then(|known| Some((read(known.outcome.clone())?, known)));
        let (result, shared_from) = match taken {
            Some((value, known)) => {
                open.log.calls = known.calls;
                open.log.notes = known.notes;
                (Ok(value), known.shared_from)
            }
            None => (work(&mut open.log).await, None),
        };
        self.end_shared(open, result, outcome, shared_from)
    }

    pub fn begin(&self, stage: StageId, key: String) -> Open {
        self.ctx.env.emit(RunEvent::StageStarted { stage });
        Open {
            stage,
            started_ms: self.ctx.env.now_ms(),
            key,
            log: StageLog::default(),
        }
    }

    /// Records the stage, whether it succeeded or not.
    pub fn end<T>(
        &mut self,
        open: Open,
        result: Step<T>,
        outcome: impl FnOnce(&T) -> StageOutcome,
    ) -> Step<T> {
        self.end_shared(open, result, outcome, None)
    }

    fn end_shared<T>(
        &mut self,
        open: Open,
        result: Step<T>,
        outcome: impl FnOnce(&T) -> StageOutcome,
        shared_from: Option<String>,
    ) -> Step<T> {
        let outcome = match &result {
            Ok(value) => outcome(value),
            Err(error) => StageOutcome::Failed {
                message: error.to_string(),
            },
        };
        let mut notes = open.log.notes;
        for odd in self.ctx.env.odd() {
            if !notes.contains(&odd) {
                notes.push(odd);
            }
        }
        let record = StageRecord {
            stage: open.stage,
            started_ms: open.started_ms,
            duration_ms: self.ctx.env.now_ms() - open.started_ms,
            outcome,
            calls: open.log.calls,
            notes,
            key: open.key,
            shared_from,
        };
        self.ctx.env.emit(RunEvent::StageDone {
            record: Box::new(record.clone()),
        });
        self.stages.push(record);
        result
    }
}

/// The scores of a stage that is known, and the stage.
fn ranked(record: StageRecord) -> Option<(Vec<ScoredPassage>, StageRecord)> {
    match &record.outcome {
        StageOutcome::Ranked { scored, .. } => Some((scored.clone(), record)),
        _ => None,
    }
}

/// The prompt of an output head.
fn prompt_of(head: StageId, material: Material<'_>) -> &'static str {
    let call = head == StageId::ParameterFilling;
    match (head, material, call) {
        (StageId::QuestionAnswering, ..) => "answer_questions",
        (_, Material::Trajectory(_), false) => "write_text",
        (_, Material::Trajectory(_), true) => "fill_slots",
        (_, Material::Nothing, false) => "plain_text",
        (_, Material::Nothing, true) => "plain_slots",
        (_, _, false) => "rag_text",
        (_, _, true) => "rag_slots",
    }
}

/// A head's material for its key.
fn inputs(material: Material<'_>) -> Value {
    match material {
        Material::Trajectory(k) => json!(["trajectory", k.plan, k.preferences, k.evidence]),
        Material::Joined(k) => json!(["joined", k.plan, k.preferences, k.evidence]),
        Material::Passages(passages) => json!(["passages", passages]),
        Material::Nothing => json!(["nothing"]),
    }
}

/// Questions and answers as one text, which is what a judge reads.
fn answered(questions: &[String], answers: &[String]) -> Output {
    let pairs = questions.iter().zip(answers).enumerate();
    let lines: Vec<String> = pairs
        .map(|(n, (question, answer))| format!("Q{}: {question}\n\nA{}: {answer}", n + 1, n + 1))
        .collect();
    Output::GenerateText {
        text: lines.join("\n\n"),
    }
}

/// The passages with these ids, in the order of the ids.
fn take(passages: Vec<Passage>, ids: &[PassageId]) -> Vec<Passage> {
    let find = |id: &PassageId| passages.iter().find(|passage| passage.id == *id).cloned();
    ids.iter().filter_map(find).collect()
}

fn left_out(passages: &[Passage], items: &[CompactItem]) -> Vec<Dropped> {
    let gone = passages
        .iter()
        .filter(|p| items.iter().all(|item| item.passage != p.id));
    let reason = "nothing in it was found to bear on the task";
    gone.map(|p| Dropped {
        passage: p.id.clone(),
        reason: reason.to_owned(),
    })
    .collect()
}
