//! Outputs of a process that must end at once; in a test binary of its own, because nothing can be
//! written afterwards.

use probe_io::{AtomicOutput, abandon_outputs};
use std::io::Write as _;

#[test]
fn abandoned_outputs_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(directory.path()).unwrap().count();
    std::fs::write(directory.path().join("old.csv"), "old").unwrap();
    let mut outputs: Vec<AtomicOutput> = ["new.csv", "old.csv"]
        .map(|name| AtomicOutput::create(directory.path().join(name)).unwrap())
        .into();
    let done = AtomicOutput::create(directory.path().join("done.csv")).unwrap();
    done.commit().unwrap();
    outputs[0].write_all(&[b'x'; 1 << 20]).unwrap();
    assert_eq!(files(), 4);
    abandon_outputs();
    assert_eq!(files(), 2);
    // Whoever still writes neither fails nor leaves anything, and nothing new is begun.
    outputs[1].write_all(&[b'x'; 1 << 20]).unwrap();
    assert!(outputs.remove(0).commit().is_err());
    drop(outputs);
    assert!(AtomicOutput::create(directory.path().join("later.csv")).is_err());
    assert_eq!(files(), 2);
    assert_eq!(std::fs::read_to_string(directory.path().join("old.csv")).unwrap(), "old");
}
