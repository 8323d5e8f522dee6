//! The HTTP service against Schemathesis, which sends it what its OpenAPI document allows and what
//! it forbids.

use crate::python::{environment, install};
use crate::shell::{cargo, root, say, step, target};
use anyhow::{Context as _, Result, bail, ensure};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// What every answer must be. Whether values that the document allows are accepted is not among
/// it: which fields exclude each other is not in the document.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_schema_conformance,allow_header_conformance";

/// A service that is killed at the end.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Tests the service of the built-in model with at most `examples` cases per operation and phase,
/// and at least `least` in all.
pub(crate) fn test(examples: u32, least: u64) -> Result<()> {
    step("command for the service", cargo().args(["build", "--quiet", "-p", "probe-cli"]))?;
    let python = environment(&target().join("python/service"))?;
    install(&python, &["schemathesis>=4,<5".as_ref(), "httpx".as_ref()])?;
    let binary = target().join("debug").join(format!("probe{}", std::env::consts::EXE_SUFFIX));
    let mut service = Command::new(binary);
    // A short time limit: thorough work of any size is asked for.
    service.args(["serve", "--listen", "127.0.0.1:0", "--timeout", "2", "--log", "warn"]);
    let mut service = Service(service.stdout(Stdio::piped()).spawn().context("probe serve")?);
    let mut line = String::new();
    let stdout = service.0.stdout.take().context("probe serve has no output")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let address = line.trim().strip_prefix("listening on ").context("probe serve failed")?;
    let mut run = Command::new(python.with_file_name("schemathesis"));
    run.current_dir(target()).arg("run").arg(format!("{address}/openapi.json"));
    run.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--seed", "1"]);
    run.args(["--request-timeout", "30", "--suppress-health-check", "all"]);
    run.args(["--max-examples", &examples.to_string(), "--workers", "1"]);
    let hooks = root().join("crates/xtask/python");
    run.env("PYTHONPATH", hooks).env("SCHEMATHESIS_HOOKS", "service_bodies");
    step("service against Schemathesis", &mut run)?;
    let cases = requests(&python, address)?;
    say(&format!("{cases} requests were answered as documented"));
    ensure!(cases >= least, "only {cases} requests, expected {least}");
    if let Some(status) = service.0.try_wait()? {
        bail!("the service has ended: {status}");
    }
    // The examples of docs/service.md, those in Python among them.
    let words = ["test", "--quiet", "-p", "probe-cli", "--test", "cli", "--", "examples_of"];
    step("examples of the service", cargo().args(words).env("PROBE_PYTHON", &python))
}

/// Number of requests that the service has counted.
fn requests(python: &std::path::Path, address: &str) -> Result<u64> {
    let script = "import sys, httpx\n\
        lines = httpx.get(sys.argv[1] + '/metrics').text.splitlines()\n\
        name = 'probe_http_requests_total{'\n\
        print(sum(int(x.rsplit(' ', 1)[1]) for x in lines if x.startswith(name)))";
    let output = Command::new(python).args(["-c", script, address]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}
