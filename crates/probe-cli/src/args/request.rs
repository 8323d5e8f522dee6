//! Turns flags into a request.

use super::ask::{Assume, Assurance, Effort, Measure, Rates, Scope, Seek, Wishes};
use super::{Common, Compare, Frontier, Rate, Recourse, Serve};
use crate::usage::Usage;
use anyhow::Result;
use probe_core::{MethodOptions, SearchEffort};
use probe_service::Request;
use serde_json::Value;

impl Recourse {
    pub(crate) fn request(&self, common: &Common) -> Result<Request> {
        let mut request = self.ask.assume.request(common);
        self.seek.apply(&mut request);
        self.seek.apply_options(&mut request)?;
        self.wishes.apply(&mut request);
        self.assurance.apply(&mut request);
        Ok(request)
    }
}

impl Frontier {
    pub(crate) fn request(&self, common: &Common) -> Result<Request> {
        let mut request = self.ask.assume.request(common);
        self.seek.apply(&mut request);
        self.seek.apply_options(&mut request)?;
        self.rates.apply(&mut request);
        self.assurance.apply(&mut request);
        Ok(request)
    }
}

impl Serve {
    /// The fields of a request that differ from the usual defaults.
    pub(crate) fn defaults(&self, common: &Common) -> Result<serde_json::Map<String, Value>> {
        let mut request = self.assume.request(common);
        self.seek.apply(&mut request);
        self.seek.apply_options(&mut request)?;
        self.wishes.apply(&mut request);
        self.assurance.apply(&mut request);
        self.rates.apply(&mut request);
        self.measure.apply(&mut request);
        let usual = serde_json::to_value(Request::default())?;
        let mut fields = match serde_json::to_value(request)? {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        fields.retain(|name, value| usual[name] != *value);
        Ok(fields)
    }
}

impl Compare {
    /// The request that all methods have in common. Settings belong to one method each.
    pub(crate) fn request(&self, common: &Common) -> Request {
        let mut request = self.ask.assume.request(common);
        self.seek.apply(&mut request);
        request
    }
}

impl Rate {
    pub(crate) fn request(&self, common: &Common) -> Request {
        let mut request = self.ask.assume.request(common);
        self.measure.apply(&mut request);
        request
    }
}

impl Assume {
    fn request(&self, common: &Common) -> Request {
        // --sigma has a default, which must not override the flags that replace it.
        let replaced = self.sigma2.is_some() || self.noise.is_some();
        Request {
            sigma: (!replaced).then_some(self.sigma),
            sigma2: self.sigma2,
            noise: self.noise.clone(),
            noise_on: self.noise_on,
            model_shift: self.model_shift.clone(),
            immutable: self.immutable.clone(),
            confidence: self.confidence,
            favourable_class: self.favourable_class,
            threshold: self.threshold,
            threshold_prob: self.threshold_prob,
            seed: common.seed,
            ..Request::default()
        }
    }
}

impl Seek {
    fn apply(&self, request: &mut Request) {
        request.max_rate = self.max_rate;
        request.cost.clone_from(&self.cost);
        request.bounds = self.bounds;
        request.strict_bounds = self.strict_bounds;
        request.max_changes = self.max_changes;
        request.prefer.clone_from(&self.prefer);
        request.avoid.clone_from(&self.avoid);
        request.method.clone_from(&self.method);
        request.paper_text = self.paper_text;
        request.effort = match self.effort {
            Effort::Quick => SearchEffort::Quick,
            Effort::Normal => SearchEffort::Normal,
            Effort::Thorough => SearchEffort::Thorough,
        };
        request.no_certify = self.no_certify;
        request.also_favourable = self.also_favourable;
    }

    fn apply_options(&self, request: &mut Request) -> Result<()> {
        let options = MethodOptions::parse(self.option.iter().map(String::as_str))
            .map_err(|error| Usage::of("--option", error))?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        request.option = options.iter().map(owned).collect();
        Ok(())
    }
}

impl Wishes {
    fn apply(&self, request: &mut Request) {
        request.budget = self.budget;
        request.options = usize::from(self.options);
        request.tolerance = self.tolerance;
        request.relax = self.relax;
    }
}

impl Assurance {
    fn apply(&self, request: &mut Request) {
        request.aim = self.aim;
        request.confidence_scope = match self.confidence_scope {
            Scope::Row => probe_service::Scope::Row,
            Scope::File => probe_service::Scope::File,
        };
        request.rows = self.rows;
    }
}

impl Rates {
    fn apply(&self, request: &mut Request) {
        request.rates.clone_from(&self.rates);
    }
}

impl Measure {
    fn apply(&self, request: &mut Request) {
        request.estimator.clone_from(&self.estimator);
        request.samples = self.samples;
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::{CommandFactory as _, Parser as _};
    use probe_service::Request;
    use std::collections::BTreeSet;

    const COMMANDS: [&str; 4] = ["recourse", "frontier", "compare", "rate"];

    /// Flags about files, the terminal and letters, which are not part of a request.
    const OTHERS: [&str; 20] = [
        "schema",
        "reference",
        "costs",
        "from",
        "audit",
        "output",
        "format",
        "input_format",
        "id",
        "ignore_extra",
        "explain",
        "explain_out",
        "language",
        "templates",
        "threads",
        "quiet",
        "log",
        "plot",
        "methods",
        "help",
    ];

    /// Flags of the commands with underscores.
    fn flags() -> BTreeSet<String> {
        let mut cli = Cli::command();
        cli.build();
        let mut names = BTreeSet::new();
        for command in COMMANDS {
            let command = cli.find_subcommand(command).expect("a command");
            names.extend(
                command
                    .get_arguments()
                    .filter_map(|arg| arg.get_long())
                    .map(|flag| flag.replace('-', "_")),
            );
        }
        names
    }

    fn request(line: &str) -> Request {
        let Cli { command, common } =
            Cli::try_parse_from(line.split_whitespace()).expect("a command line");
        match command {
            Command::Recourse(args) => args.request(&common).expect("a request"),
            Command::Frontier(args) => args.request(&common).expect("a request"),
            Command::Compare(args) => args.request(&common),
            Command::Rate(args) => args.request(&common),
            _ => panic!("no request in {line}"),
        }
    }

    #[test]
    fn every_flag_is_a_field_and_every_field_a_flag() {
        let others = OTHERS.map(str::to_owned).into();
        let flags: BTreeSet<String> = flags().difference(&others).cloned().collect();
        assert_eq!(flags, Request::field_names().into_iter().collect());
    }

    #[test]
    fn flags_have_the_defaults_of_the_request() {
        let default = Request { sigma: Some(0.1), ..Request::default() };
        for command in COMMANDS {
            let more = if command == "compare" { "--methods probe" } else { "" };
            assert_eq!(request(&format!("probe {command} m p {more}")), default, "{command}");
        }
    }

    /// Each flag changes its own field and no other.
    #[test]
    fn every_flag_reaches_its_field() {
        let recourse = [
            ("sigma", "--sigma 0.2"),
            ("noise_on", "--noise-on all"),
            ("model_shift", "--model-shift gaussian:0.1"),
            ("immutable", "--immutable a"),
            ("confidence", "--confidence 0.9"),
            ("confidence_scope", "--confidence-scope file"),
            ("rows", "--rows 3"),
            ("favourable_class", "--favourable-class 0"),
            ("threshold", "--threshold -1"),
            ("threshold_prob", "--threshold-prob 0.3"),
            ("max_rate", "-r 0.2"),
            ("cost", "--cost l2"),
            ("bounds", "--bounds none"),
            ("strict_bounds", "--strict-bounds"),
            ("max_changes", "--max-changes 2"),
            ("prefer", "--prefer a"),
            ("avoid", "--avoid a"),
            ("method", "--method wachter"),
            ("option", "--option a=b"),
            ("paper_text", "--paper-text"),
            ("effort", "--effort thorough"),
            ("no_certify", "--no-certify"),
            ("also_favourable", "--also-favourable"),
            ("aim", "--aim 0.9"),
            ("budget", "--budget 1"),
            ("options", "--options 2"),
            ("tolerance", "--tolerance"),
            ("relax", "--relax"),
            ("seed", "--seed 7"),
        ];
        let others = [
            ("frontier", "rates", "--rates 0.2"),
            ("rate", "estimator", "--estimator line"),
            ("rate", "samples", "--samples 9"),
        ];
        let all = recourse.map(|(field, flags)| ("recourse", field, flags)).into_iter();
        let mut seen = BTreeSet::from(["sigma2".to_owned(), "noise".to_owned()]);
        for (command, field, flags) in all.chain(others) {
            assert_eq!(changed(command, flags), [field], "{flags}");
            seen.insert(field.to_owned());
        }
        assert_eq!(changed("recourse", "--sigma2 0.04"), ["sigma", "sigma2"]);
        assert_eq!(changed("recourse", "--noise laplace:0.1"), ["sigma", "noise"]);
        assert_eq!(seen, Request::field_names().into_iter().collect());
    }

    /// The fields that `flags` change.
    fn changed(command: &str, flags: &str) -> Vec<String> {
        let json = |request| serde_json::to_value(request).expect("JSON");
        let plain = json(request(&format!("probe {command} m p")));
        let given = json(request(&format!("probe {command} m p {flags}")));
        let differs = |name: &String| plain[name] != given[name];
        Request::field_names().into_iter().filter(differs).collect()
    }
}
