//! The tools in their fixed order, over any [`Mind`].

use super::facets::TASK;
use super::mind::{Ctx, FilledCall, Material, Mind, StageLog};
use super::trace::{
    AlignmentPlan, CompactItem, Dropped, ExtractedPreference, Output, Query, QueryHits,
    ScoredPassage, StageId, StageOutcome, StageRecord, System,
};
use super::{redundancy, select};
use crate::bench::taxonomy::Action;
use crate::bench::visible::Instance;
use crate::embed::{Passage, PassageId};
use crate::run::record::Params;
use crate::run::{Env, RunEvent, StepError};

/// What a system did: its stages, and the final action or why there is none. Stages before an
/// error are kept, the failed one last.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    pub stages: Vec<StageRecord>,
    pub output: Result<Output, StepError>,
}

/// Runs a system on one instance whose history is open in `env`.
pub async fn run(
    system: System,
    env: &impl Env,
    mind: &impl Mind,
    instance: &Instance,
    params: &Params,
) -> Trajectory {
    let ctx = Ctx {
        env,
        instance,
        params,
    };
    let mut run = Run {
        ctx,
        mind,
        stages: Vec::new(),
    };
    let output = match system {
        System::IbaAgent => run.iba_agent().await,
        System::StandardRag => run.standard_rag().await,
    };
    Trajectory {
        stages: run.stages,
        output,
    }
}

struct Run<'a, E, M> {
    ctx: Ctx<'a, E>,
    mind: &'a M,
    stages: Vec<StageRecord>,
}

/// A stage that began and has not ended.
struct Open {
    stage: StageId,
    started_ms: f64,
    log: StageLog,
}

type Step<T> = Result<T, StepError>;

impl<E: Env, M: Mind> Run<'_, E, M> {
    /// Deep retrieval, broad thinking and deep alignment, synthesis.
    async fn iba_agent(&mut self) -> Step<Output> {
        let queries = self.query_expansion().await?;
        let lists = self
            .similarity_retrieval(queries, self.ctx.params.top_k)
            .await?;
        let passages = self.redundancy_filtering(&lists)?;
        let passages = self.salience_reranking(passages).await?;
        let evidence = self.compact_evidence(passages).await?;
        let preferences = self.preference_extraction(&evidence).await?;
        let plan = self.task_preference_alignment(&preferences).await?;
        let material = Material::Trajectory {
            plan: &plan,
            preferences: &preferences,
            evidence: &evidence,
        };
        self.output_head(material).await
    }

    /// Top passages for the task, joined with the request.
    async fn standard_rag(&mut self) -> Step<Output> {
        let lists = self
            .similarity_retrieval(vec![self.task_query()], self.ctx.params.top_k)
            .await?;
        self.output_head(Material::Passages(&redundancy::distinct(&lists)))
            .await
    }

    fn task_query(&self) -> Query {
        Query {
            facet: TASK.to_owned(),
            text: self.ctx.instance.task.text(),
        }
    }

    async fn query_expansion(&mut self) -> Step<Vec<Query>> {
        let mut open = self.begin(StageId::QueryExpansion);
        let expanded = self.mind.expand(&self.ctx, &mut open.log).await;
        let queries = expanded.map(|expanded| {
            let expanded = expanded
                .into_iter()
                .take(self.ctx.params.max_queries as usize);
            std::iter::once(self.task_query())
                .chain(expanded)
                .collect::<Vec<_>>()
        });
        self.end(open, queries, |queries| StageOutcome::Queries {
            queries: queries.clone(),
        })
    }

    async fn similarity_retrieval(
        &mut self,
        queries: Vec<Query>,
        top_k: u32,
    ) -> Step<Vec<QueryHits>> {
        let mut open = self.begin(StageId::SimilarityRetrieval);
        let texts: Vec<String> = queries.iter().map(|query| query.text.clone()).collect();
        let lists = self.ctx.env.search(&texts, top_k).await.map(|hits| {
            let pairs = queries.into_iter().zip(hits);
            pairs
                .map(|(query, hits)| QueryHits { query, hits })
                .collect::<Vec<_>>()
        });
        if lists
            .as_ref()
            .is_ok_and(|lists| lists.iter().all(|list| list.hits.is_empty()))
        {
            open.log.note("no passage was found: the history is empty");
        }
        self.end(open, lists, |lists| StageOutcome::Retrieved {
            lists: lists.clone(),
        })
    }

    fn redundancy_filtering(&mut self, lists: &[QueryHits]) -> Step<Vec<Passage>> {
        let mut open = self.begin(StageId::RedundancyFiltering);
        let hits: usize = lists.iter().map(|list| list.hits.len()).sum();
        let passages = redundancy::distinct(lists);
        open.log.note(format!(
            "{hits} hits are {} different passages",
            passages.len()
        ));
        let parts = redundancy::filter(passages, self.ctx.params.near_duplicate);
        let outcome = |(kept, dropped): &(Vec<Passage>, Vec<Dropped>)| StageOutcome::Filtered {
            kept: kept.clone(),
            dropped: dropped.clone(),
        };
        self.end(open, Ok(parts), outcome).map(|(kept, _)| kept)
    }

    async fn salience_reranking(&mut self, passages: Vec<Passage>) -> Step<Vec<Passage>> {
        let mut open = self.begin(StageId::SalienceReranking);
        let scored = match passages.is_empty() {
            true => Ok(Vec::new()),
            false => {
                self.mind
                    .salience(&self.ctx, &passages, &mut open.log)
                    .await
            }
        };
        let params = self.ctx.params;
        let ranked = scored.map(|scored| {
            let cut = select::select(&scored, params.min_salience, params.max_passages as usize);
            open.log.notes.extend(cut.notes.clone());
            (scored, cut)
        });
        let outcome =
            |(scored, cut): &(Vec<ScoredPassage>, select::Selection)| StageOutcome::Ranked {
                scored: scored.clone(),
                kept: cut.kept.clone(),
                dropped: cut.dropped.clone(),
            };
        let (_, cut) = self.end(open, ranked, outcome)?;
        Ok(take(passages, &cut.kept))
    }

    /// Passages go in by date, so that a later change is read after what it changes.
    async fn compact_evidence(&mut self, mut passages: Vec<Passage>) -> Step<Vec<CompactItem>> {
        let mut open = self.begin(StageId::CompactEvidence);
        passages.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
        let items = match passages.is_empty() {
            true => Ok(Vec::new()),
            false => self.mind.compact(&self.ctx, &passages, &mut open.log).await,
        };
        self.end(open, items, |items| StageOutcome::Compacted {
            items: items.clone(),
            dropped: left_out(&passages, items),
        })
    }

    async fn preference_extraction(
        &mut self,
        evidence: &[CompactItem],
    ) -> Step<Vec<ExtractedPreference>> {
        let mut open = self.begin(StageId::PreferenceExtraction);
        let items = match evidence.is_empty() {
            true => Ok(Vec::new()),
            false => self.mind.extract(&self.ctx, evidence, &mut open.log).await,
        };
        self.end(open, items, |items| StageOutcome::Preferences {
            items: items.clone(),
        })
    }

    async fn task_preference_alignment(
        &mut self,
        preferences: &[ExtractedPreference],
    ) -> Step<AlignmentPlan> {
        let mut open = self.begin(StageId::TaskPreferenceAlignment);
        let plan = match preferences.is_empty() {
            true => {
                open.log
                    .note("no preference was found, so the plan is empty");
                Ok(AlignmentPlan::default())
            }
            false => self.mind.align(&self.ctx, preferences, &mut open.log).await,
        };
        self.end(open, plan, |plan| StageOutcome::Plan { plan: plan.clone() })
    }

    async fn output_head(&mut self, material: Material<'_>) -> Step<Output> {
        let (open, output) = match self.ctx.instance.action {
            Action::GenerateText => self.text_head(material).await,
            Action::CallApi => self.call_head(material).await,
        };
        self.end(open, output, |output| StageOutcome::Output {
            output: output.clone(),
        })
    }

    async fn text_head(&self, material: Material<'_>) -> (Open, Step<Output>) {
        let mut open = self.begin(StageId::TextGeneration);
        let text = self
            .mind
            .write_text(&self.ctx, material, &mut open.log)
            .await;
        (open, text.map(|text| Output::GenerateText { text }))
    }

    async fn call_head(&self, material: Material<'_>) -> (Open, Step<Output>) {
        let mut open = self.begin(StageId::ParameterFilling);
        let call = self
            .mind
            .fill_slots(&self.ctx, material, &mut open.log)
            .await;
        let output = |call: FilledCall| Output::CallApi {
            slots: call.slots,
            description: call.description,
        };
        (open, call.map(output))
    }

    fn begin(&self, stage: StageId) -> Open {
        self.ctx.env.emit(RunEvent::StageStarted { stage });
        Open {
            stage,
            started_ms: self.ctx.env.now_ms(),
            log: StageLog::default(),
        }
    }

    /// Records the stage, whether it succeeded or not.
    fn end<T>(
        &mut self,
        open: Open,
        result: Step<T>,
        outcome: impl FnOnce(&T) -> StageOutcome,
    ) -> Step<T> {
        let outcome = match &result {
            Ok(value) => outcome(value),
            Err(error) => StageOutcome::Failed {
                message: error.to_string(),
            },
        };
        let record = StageRecord {
            stage: open.stage,
            started_ms: open.started_ms,
            duration_ms: self.ctx.env.now_ms() - open.started_ms,
            outcome,
            calls: open.log.calls,
            notes: open.log.notes,
        };
        self.ctx.env.emit(RunEvent::StageDone {
            record: Box::new(record.clone()),
        });
        self.stages.push(record);
        result
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
