//! Checks the domains of a request's fields, and that no two of them exclude each other.

use super::{Request, SIGMA, Scope};
use crate::domain;
use crate::error::RequestError;
use crate::message::Message;
use probe_core::recourse::method;
use probe_core::{Cost, MethodOptions, ModelShift, NoiseOn};

/// Most alternatives for one person.
pub(super) const MOST_OPTIONS: usize = 20;

impl Request {
    /// Fails on the first field that is outside its domain or excluded by another.
    /// [`crate::Prepared::new`] calls this, and checks what depends on the model.
    pub fn check(&self) -> Result<(), RequestError> {
        self.check_conflicts()?;
        self.check_numbers()?;
        self.check_rates()?;
        Cost::uniform(&self.cost, 1).map_err(|error| RequestError::of("cost", error))?;
        self.method_options()?;
        self.shift()?;
        Ok(())
    }

    fn check_conflicts(&self) -> Result<(), RequestError> {
        let conflicts = [
            ("sigma2", self.sigma2.is_some(), "sigma", self.sigma.is_some()),
            ("noise", self.noise.is_some(), "sigma", self.sigma.is_some()),
            ("noise", self.noise.is_some(), "sigma2", self.sigma2.is_some()),
            (
                "threshold_prob",
                self.threshold_prob.is_some(),
                "threshold",
                self.threshold.is_some(),
            ),
        ];
        for (field, given, other, other_given) in conflicts {
            if given && other_given {
                let message = Message::from("cannot be used with ").field(other);
                return Err(RequestError::new(field, message));
            }
        }
        if self.confidence_scope == Scope::Row && self.rows.is_some() {
            let message = Message::from("needs ").field("confidence_scope").text(" file");
            return Err(RequestError::new("rows", message));
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), RequestError> {
        type Domain = fn(f64) -> Result<f64, &'static str>;
        let numbers: [(&'static str, Option<f64>, Domain); 8] = [
            ("sigma", self.sigma, domain::positive),
            ("sigma2", self.sigma2, domain::positive),
            ("confidence", Some(self.confidence), domain::rate),
            ("threshold", self.threshold, domain::finite),
            ("threshold_prob", self.threshold_prob, domain::rate),
            ("max_rate", Some(self.max_rate), domain::rate),
            ("aim", self.aim, domain::rate),
            ("budget", self.budget, domain::at_least_zero),
        ];
        for (field, value, domain) in numbers {
            in_domain(field, value, domain)?;
        }
        let counts = [
            ("favourable_class", u64::from(self.favourable_class), 0, 1),
            ("options", self.options as u64, 1, MOST_OPTIONS as u64),
            ("rows", self.rows.unwrap_or(1), 1, u64::MAX),
            ("samples", self.samples, 1, u64::MAX),
        ];
        for (field, count, least, most) in counts {
            if !(least..=most).contains(&count) {
                let most = if most == u64::MAX { String::new() } else { format!(" and {most}") };
                let words = if most.is_empty() { "at least" } else { "between" };
                let message = format!("must be {words} {least}{most}, got {count}");
                return Err(RequestError::new(field, message));
            }
        }
        Ok(())
    }

    fn check_rates(&self) -> Result<(), RequestError> {
        if self.rates.is_empty() {
            return Err(RequestError::new("rates", "at least one is needed"));
        }
        for (i, &rate) in self.rates.iter().enumerate() {
            in_domain("rates", Some(rate), domain::rate)?;
            if self.rates[..i].contains(&rate) {
                return Err(RequestError::new("rates", format!("{rate} is given twice")));
            }
        }
        let rates = self.rates.iter().map(|rate| ("rates", rate));
        for (field, &rate) in rates.chain([("max_rate", &self.max_rate)]) {
            if self.noise_on == Some(NoiseOn::Changed) && rate >= 0.5 {
                let message = Message::default().field("noise_on");
                let message = message.text(format!(" changed needs a rate below 0.5, got {rate}"));
                return Err(RequestError::new(field, message));
            }
        }
        Ok(())
    }

    /// The standard deviation of the noise, if `noise` does not give one.
    pub(crate) fn deviation(&self) -> f64 {
        self.sigma2.map_or(self.sigma.unwrap_or(SIGMA), f64::sqrt)
    }

    /// How the model may change.
    pub(crate) fn shift(&self) -> Result<Option<ModelShift>, RequestError> {
        let shift = self.model_shift.as_deref().map(ModelShift::parse).transpose();
        shift.map_err(|error| RequestError::of("model_shift", error))
    }

    /// The method's settings, including `paper_text`. Fails on an unknown method or setting.
    pub(crate) fn method_options(&self) -> Result<MethodOptions, RequestError> {
        let mut options = MethodOptions::default();
        for (name, value) in &self.option {
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                let message = format!("'{name}={value}': it needs a name and a value");
                return Err(RequestError::new("option", message));
            }
            options.set(name, value);
        }
        if self.paper_text {
            if options.get("preset").is_some() {
                let message = Message::from("'preset' is given twice: ");
                let message = message.field("paper_text").text(" sets it too");
                return Err(RequestError::new("option", message));
            }
            options.set("preset", "paper-text");
        }
        let field = if self.option.is_empty() { "paper_text" } else { "option" };
        method(&self.method)
            .map_err(|error| RequestError::of("method", error))?
            .check_options(&options)
            .map_err(|error| RequestError::of(field, error))?;
        Ok(options)
    }
}

fn in_domain(
    field: &'static str,
    value: Option<f64>,
    domain: fn(f64) -> Result<f64, &'static str>,
) -> Result<(), RequestError> {
    let Some(value) = value else { return Ok(()) };
    match domain(value) {
        Ok(_) => Ok(()),
        Err(what) => Err(RequestError::new(field, format!("{what}, got {value}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Spelling;

    #[track_caller]
    fn rejected(document: &str, flag: &str, words: &str) {
        let error = Request::from_json(document).unwrap().check().unwrap_err();
        let text = error.spelled(Spelling::Flag);
        assert!(text.starts_with(&format!("{flag}: ")) && text.contains(words), "{text}");
    }

    #[test]
    fn the_default_is_in_its_domain() {
        assert_eq!(Request::default().check(), Ok(()));
    }

    #[test]
    fn fields_outside_their_domain_are_named() {
        rejected(r#"{"max_rate": 1}"#, "--max-rate", "both excluded, got 1");
        rejected(r#"{"sigma": 0}"#, "--sigma", "positive");
        rejected(r#"{"rates": [0.1, 1.5]}"#, "--rates", "got 1.5");
        rejected(r#"{"rates": []}"#, "--rates", "at least one");
        rejected(r#"{"rates": [0.1, 0.10]}"#, "--rates", "0.1 is given twice");
        rejected(r#"{"noise_on": "changed", "rates": [0.6]}"#, "--rates", "--noise-on changed");
        rejected(r#"{"noise_on": "changed", "max_rate": 0.5}"#, "--max-rate", "--noise-on changed");
        rejected(r#"{"favourable_class": 2}"#, "--favourable-class", "between 0 and 1, got 2");
        rejected(r#"{"options": 21}"#, "--options", "between 1 and 20, got 21");
        rejected(r#"{"samples": 0}"#, "--samples", "at least 1, got 0");
        rejected(r#"{"cost": "l7"}"#, "--cost", "l7");
        rejected(r#"{"method": "magic"}"#, "--method", "magic");
        rejected(r#"{"option": {"magic": "1"}}"#, "--option", "magic");
        rejected(r#"{"paper_text": true}"#, "--paper-text", "preset");
        rejected(r#"{"model_shift": "tiny:1"}"#, "--model-shift", "tiny");
    }

    #[test]
    fn fields_that_exclude_each_other_are_named() {
        rejected(r#"{"sigma": 0.1, "sigma2": 0.1}"#, "--sigma2", "--sigma");
        rejected(r#"{"sigma": 0.1, "noise": "laplace:0.1"}"#, "--noise", "--sigma");
        rejected(r#"{"threshold": 0, "threshold_prob": 0.5}"#, "--threshold-prob", "--threshold");
        rejected(r#"{"rows": 3}"#, "--rows", "--confidence-scope file");
    }
}
