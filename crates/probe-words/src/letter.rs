//! From facts to sentences.

use crate::error::Result;
use crate::facts::{
    Addressee, Basis, Bond, Change, Drift, Facts, LeewaySide, Limited, Stop, Value,
};
use crate::language::Language;
use crate::number::Odds;
use minijinja::context;
use probe_core::{Reason, Status};
use serde::Serialize;

/// Most changes with a sentence of their own.
pub const SHOWN: usize = 4;
/// At most this many further features are listed in one sentence.
const LISTED: usize = 6;

/// A letter: sentences in order, without any markup.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Letter {
    /// Its language.
    pub language: String,
    /// The status of the answer.
    pub status: Status,
    /// Heading.
    pub title: String,
    /// Who it is to.
    pub who: String,
    /// The first sentences.
    pub intro: Vec<String>,
    /// What to do, where there is something.
    pub steps: Option<Steps>,
    /// Further sections.
    pub sections: Vec<Section>,
    /// How many get a yes, for a picture.
    pub odds: Option<Share>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steps {
    /// Heading.
    pub heading: String,
    /// Step by step, at most [`SHOWN`].
    pub items: Vec<Step>,
    /// What holds for all of them.
    pub notes: Vec<String>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The feature as people call it.
    pub feature: String,
    /// Today, with its unit.
    pub from: String,
    /// What to aim for, with its unit.
    pub to: String,
    /// The step in a sentence.
    pub text: String,
    /// What else there is to say about it.
    pub notes: Vec<String>,
}

/// Sentences under a heading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// What it is about: `sure`, `why-none`, `reasons` or `not`.
    pub key: &'static str,
    /// Heading.
    pub heading: String,
    /// Its sentences.
    pub sentences: Vec<String>,
}

/// How many of how many get a yes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// In per cent of all.
    pub percent: f64,
    /// As a text: `90 / 100`, or `≈ 90 / 100` where it is an estimate.
    pub text: String,
}

impl Letter {
    /// Writes the facts in `language`.
    pub fn new(language: &Language, facts: &Facts) -> Result<Self> {
        let writer = Writer { language, facts };
        let (kind, steps) = match facts.status {
            Status::Certified | Status::Found => ("advice", Some(writer.steps()?)),
            Status::None if writer.no_other_way() => ("other", None),
            Status::None => ("none", None),
            Status::Favourable => ("favourable", None),
        };
        let sections = [writer.sure()?, writer.why_none()?, writer.reasons()?, writer.not()?];
        Ok(Self {
            language: language.name().to_owned(),
            status: facts.status,
            title: writer.plain(&format!("title_{kind}"))?,
            who: writer.who(&facts.to)?,
            intro: vec![writer.plain(&format!("intro_{kind}"))?],
            steps,
            sections: sections.into_iter().flatten().filter(|s| !s.sentences.is_empty()).collect(),
            odds: writer.odds(),
        })
    }
}

struct Writer<'a> {
    language: &'a Language,
    facts: &'a Facts,
}

impl Writer<'_> {
    fn say(&self, phrase: &str, values: minijinja::Value) -> Result<String> {
        self.language.fill(phrase, values)
    }

    fn plain(&self, phrase: &str) -> Result<String> {
        self.say(phrase, context! {})
    }

    fn number(&self, text: &str, unit: Option<&str>) -> String {
        clean(&self.language.number.with_unit(text, self.language.unit(unit)))
    }

    fn value(&self, feature: &str, value: &Value, unit: Option<&str>) -> String {
        match value {
            Value::Number(number) => self.number(&self.language.number.exact(*number), unit),
            Value::Category(name) => clean(self.language.category(feature, name)),
        }
    }

    fn feature(&self, name: &str) -> String {
        clean(&self.language.feature(name))
    }

    fn count(&self, n: u64) -> String {
        self.language.number.count(n)
    }

    fn who(&self, to: &Addressee) -> Result<String> {
        let mut parts = Vec::new();
        for (name, value) in &to.ids {
            parts
                .push(self.say("who_id", context! { name => clean(name), value => clean(value) })?);
        }
        if parts.is_empty() {
            parts.push(self.say("who_row", context! { row => self.count(to.row) })?);
        }
        if let Some(option) = to.option {
            parts.push(
                self.say("who_option", context! { option => self.count(option as u64 + 1) })?,
            );
        }
        Ok(parts.join(&self.plain("comma")?))
    }

    fn steps(&self) -> Result<Steps> {
        let changes = &self.facts.changes;
        let items = changes
            .iter()
            .take(SHOWN)
            .map(|change| self.step(change))
            .collect::<Result<Vec<_>>>()?;
        let mut notes = Vec::new();
        if changes.len() > SHOWN {
            let other = |change: &Change| {
                let value = self.value(&change.feature, &change.to, change.unit.as_deref());
                self.say("aim", context! { feature => self.feature(&change.feature), value })
            };
            let others = changes[SHOWN..].iter().map(other).collect::<Result<Vec<_>>>()?;
            notes.push(self.say(
                "steps_more",
                context! {
                    total => self.count(changes.len() as u64),
                    shown => self.count(SHOWN as u64),
                    list => self.list(&others, usize::MAX)?,
                },
            )?);
        }
        if changes.len() > 1 {
            notes.push(self.plain("steps_all")?);
        }
        let mut bonds = Vec::new();
        for bond in &self.facts.bonds {
            bonds.push(match bond {
                Bond::Rule(words) => {
                    words.iter().map(|word| self.feature(word)).collect::<Vec<_>>().join(" ")
                }
                Bond::Together(names) => {
                    let names: Vec<String> = names.iter().map(|name| self.feature(name)).collect();
                    self.say("bond_together", context! { list => self.list(&names, usize::MAX)? })?
                }
            });
        }
        self.push_list(&mut notes, "steps_bonds", &bonds)?;
        let outside: Vec<String> = changes
            .iter()
            .filter(|change| change.outside)
            .map(|c| self.feature(&c.feature))
            .collect();
        self.push_list(&mut notes, "steps_outside", &outside)?;
        Ok(Steps { heading: self.plain("heading_steps")?, items, notes })
    }

    fn step(&self, change: &Change) -> Result<Step> {
        let unit = change.unit.as_deref();
        let feature = self.feature(&change.feature);
        let value = |value: &Value| self.value(&change.feature, value, unit);
        let (from, to) = (value(&change.from), value(&change.to));
        let phrase = match (&change.from, &change.to) {
            (Value::Number(from), Value::Number(to)) if to > from => "step_raise",
            (Value::Number(_), Value::Number(_)) => "step_lower",
            _ => "step_category",
        };
        let text = self.say(phrase, context! { feature => &feature, from => &from, to => &to })?;
        let mut notes = Vec::new();
        if change.spare {
            notes.push(self.plain("step_spare")?);
        }
        if let Some(leeway) = change.leeway {
            let number = &self.language.number;
            let size = if leeway.steps { number.exact(leeway.by) } else { number.below(leeway.by) };
            let phrase = match leeway.side {
                LeewaySide::Below => "step_below",
                LeewaySide::Above => "step_above",
                LeewaySide::Either => "step_either",
            };
            // If the whole change is only for safety, another sentence says so. A tolerance that
            // rounds to zero is not mentioned.
            let told = (leeway.side == LeewaySide::Either || !change.spare) && size != "0";
            if told {
                notes.push(self.say(phrase, context! { room => self.number(&size, unit) })?);
            }
        }
        if let Some(p_fail) = change.p_fail.filter(|p| *p > 0.0) {
            let odds = Odds::about(p_fail);
            notes.push(self.say("step_p_fail", self.no_of(odds))?);
        }
        Ok(Step { feature, from, to, text, notes })
    }

    fn no_of(&self, odds: Odds) -> minijinja::Value {
        context! { no => self.count(odds.count), out_of => self.count(odds.out_of) }
    }

    fn sure(&self) -> Result<Option<Section>> {
        let facts = self.facts;
        let mut sentences = Vec::new();
        if matches!(facts.status, Status::Certified | Status::Found) {
            sentences.push(self.plain("sure_intro")?);
            let miss = |change: &Change| {
                change
                    .usual_miss
                    .map(|size| self.miss(&change.feature, size, change.unit.as_deref()))
            };
            let misses = facts.changes.iter().filter_map(miss).collect::<Result<Vec<_>>>()?;
            self.push_list(&mut sentences, "sure_misses", &misses)?;
        }
        if facts.status != Status::None {
            let favourable = facts.status == Status::Favourable;
            let phrase = if favourable { "sure_values" } else { "sure_drifts" };
            let drift =
                |drift: &Drift| self.miss(&drift.feature, drift.usual_miss, drift.unit.as_deref());
            let drifts = facts.drifts.iter().map(drift).collect::<Result<Vec<_>>>()?;
            self.push_list(&mut sentences, phrase, &drifts)?;
        }
        if facts.changes.iter().any(|change| change.p_fail.is_some()) {
            sentences.push(self.plain("sure_failures")?);
        }
        match facts.status {
            Status::Certified => {
                let odds = Odds::at_most(self.certified_rate());
                let values = context! { yes => self.count(odds.others()), out_of =>
                self.count(odds.out_of) };
                sentences.push(self.say("sure_certified", values)?);
                sentences.push(if facts.exact {
                    self.plain("sure_exact")?
                } else {
                    let confidence = self.language.number.percent(facts.confidence);
                    self.say("sure_tested", context! { confidence })?
                });
            }
            Status::Found => {
                let (odds, asked) = (Odds::about(facts.rate), Odds::asked(facts.max_rate));
                let phrase =
                    if facts.rate > facts.max_rate { "sure_above" } else { "sure_unproven" };
                let values = context! {
                    no => self.count(odds.count),
                    out_of => self.count(odds.out_of),
                    asked => self.count(asked.count),
                    asked_of => self.count(asked.out_of),
                };
                sentences.push(self.say(phrase, values)?);
                if let Some(best) = facts.best_rate.map(Odds::about).filter(|best| *best != odds) {
                    sentences.push(self.say("sure_best", self.no_of(best))?);
                }
                sentences.extend(self.reason()?);
                self.push_help(&mut sentences)?;
            }
            Status::Favourable => {
                let odds = Odds::about(facts.rate);
                let rare = odds.count == 0 && facts.rate > 0.0;
                let rarely = || self.say("sure_rare", self.no_of(Odds { count: 1, ..odds }));
                let often = || self.say("sure_favourable", self.no_of(odds));
                sentences.push(if rare { rarely()? } else { often()? });
            }
            Status::None => {}
        }
        self.section("sure", "heading_sure", sentences)
    }

    /// The rate printed for a certified answer: the target if the letter mentions a tolerance,
    /// which holds for the target only.
    fn certified_rate(&self) -> f64 {
        let beside =
            |change: &Change| change.leeway.is_some_and(|leeway| leeway.side == LeewaySide::Either);
        let told = self.facts.changes.iter().take(SHOWN).any(beside);
        if told { self.facts.max_rate.max(self.facts.rate_upper) } else { self.facts.rate_upper }
    }

    fn odds(&self) -> Option<Share> {
        let facts = self.facts;
        let odds = match facts.status {
            Status::Certified => Odds::at_most(self.certified_rate()),
            Status::Found | Status::Favourable => Odds::about(facts.rate),
            Status::None => return None,
        };
        // "All of them" would be more than is known.
        if odds.count == 0 && facts.rate_upper > 0.0 {
            return None;
        }
        let about = if facts.status == Status::Certified { "" } else { "≈ " };
        Some(Share {
            percent: 100.0 * odds.others() as f64 / odds.out_of as f64,
            text: format!("{about}{} / {}", self.count(odds.others()), self.count(odds.out_of)),
        })
    }

    fn why_none(&self) -> Result<Option<Section>> {
        let facts = self.facts;
        if facts.status != Status::None || self.no_other_way() {
            return Ok(None);
        }
        let mut sentences: Vec<String> = self.reason()?.into_iter().collect();
        if let Some(best) = facts.best_rate {
            sentences.push(self.plain("sure_intro")?);
            sentences.push(self.say("none_best", self.no_of(Odds::about(best)))?);
        }
        let mut limits = Vec::new();
        // An immutable feature is no useful reason if another feature is at its limit.
        let is_end = |limited: &&Limited| limited.stop != Stop::Immutable;
        let only_ends = facts.limits.iter().any(|limited| is_end(&limited));
        for limited in facts.limits.iter().filter(|limited| !only_ends || is_end(limited)) {
            let feature = self.feature(&limited.feature);
            let value = |value: f64| {
                self.number(&self.language.number.exact(value), limited.unit.as_deref())
            };
            limits.push(match limited.stop {
                Stop::Immutable => self.say("limit_immutable", context! { feature })?,
                Stop::Direction => self.say("limit_direction", context! { feature })?,
                Stop::AtMost(most) => {
                    self.say("limit_at_most", context! { feature, value => value(most) })?
                }
                Stop::AtLeast(least) => {
                    self.say("limit_at_least", context! { feature, value => value(least) })?
                }
                Stop::MaxChanges => self.say("limit_max_changes", context! { feature })?,
            });
        }
        self.push_list(&mut sentences, "none_limits", &limits)?;
        self.push_help(&mut sentences)?;
        self.section("why-none", "heading_why_none", sentences)
    }

    /// The relaxations that would help, if they are known.
    fn push_help(&self, sentences: &mut Vec<String>) -> Result<()> {
        let mut help = Vec::new();
        for relaxation in &self.facts.relaxations {
            let unit = relaxation.unit.as_deref();
            help.push(match &relaxation.feature {
                Some(name) => {
                    let value = self.value(name, &relaxation.to, unit);
                    let phrase = match relaxation.upward {
                        Some(true) => "relaxation_up",
                        Some(false) => "relaxation_down",
                        None => "aim",
                    };
                    self.say(phrase, context! { feature => self.feature(name), value })?
                }
                None => self.say(
                    "relaxation_changes",
                    context! { count => self.value("", &relaxation.to, unit) },
                )?,
            });
        }
        self.push_list(sentences, "none_relaxations", &help)
    }

    fn reason(&self) -> Result<Option<String>> {
        let Some(code) = &self.facts.reason else { return Ok(None) };
        let phrase = format!("reason_{}", code.replace('-', "_"));
        Ok(Some(match crate::phrases::placeholders(&phrase) {
            Some(_) => self.plain(&phrase)?,
            None => self.say("reason_other", context! { code => clean(code) })?,
        }))
    }

    /// Whether the letter is about a further alternative that does not exist.
    fn no_other_way(&self) -> bool {
        self.facts.reason.as_deref() == Some(Reason::NoOtherWay.code())
    }

    fn reasons(&self) -> Result<Option<Section>> {
        if self.no_other_way() {
            return Ok(None);
        }
        let names: Vec<String> = self.facts.reasons.iter().map(|name| self.feature(name)).collect();
        let phrase = match self.facts.reasons_by {
            Basis::Advice => "reasons_advice",
            Basis::Reference => "reasons_reference",
        };
        let mut sentences = Vec::new();
        self.push_list(&mut sentences, phrase, &names)?;
        self.section("reasons", "heading_reasons", sentences)
    }

    fn not(&self) -> Result<Option<Section>> {
        let facts = self.facts;
        let model = if facts.model_may_change { "not_model_shift" } else { "not_model" };
        let phrases: &[&str] = match facts.status {
            Status::Certified | Status::Found => &["not_promise", model, "not_noise", "not_suited"],
            Status::None | Status::Favourable => &["not_promise", model],
        };
        let sentences = phrases.iter().map(|phrase| self.plain(phrase)).collect::<Result<_>>()?;
        self.section("not", "heading_not", sentences)
    }

    fn section(
        &self,
        key: &'static str,
        heading: &str,
        sentences: Vec<String>,
    ) -> Result<Option<Section>> {
        Ok(Some(Section { key, heading: self.plain(heading)?, sentences }))
    }

    fn miss(&self, feature: &str, size: f64, unit: Option<&str>) -> Result<String> {
        let size = self.number(&self.language.number.about(size), unit);
        self.say("miss", context! { feature => self.feature(feature), size })
    }

    fn push_list(&self, sentences: &mut Vec<String>, phrase: &str, items: &[String]) -> Result<()> {
        if !items.is_empty() {
            sentences.push(self.say(phrase, context! { list => self.list(items, LISTED)? })?);
        }
        Ok(())
    }

    /// `a`, `a and b`, `a, b and c`, and with more than `most`: `a, b and 3 more`.
    fn list(&self, items: &[String], most: usize) -> Result<String> {
        let mut parts = items.to_vec();
        if items.len() > most {
            parts.truncate(most - 1);
            let rest = (items.len() + 1 - most) as u64;
            parts.push(self.say("more", context! { count => self.count(rest) })?);
        }
        let Some(last) = parts.pop() else { return Ok(String::new()) };
        if parts.is_empty() {
            return Ok(last);
        }
        Ok(format!("{}{}{last}", parts.join(&self.plain("comma")?), self.plain("and")?))
    }
}

/// A name from the user's data without line breaks and control characters, which a terminal would
/// interpret.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
