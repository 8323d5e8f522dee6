use super::*;

fn made(name: &str, inputs: Inputs) -> Made {
    let entry = experiments(name).unwrap()[0];
    let mut lab = Laboratory::new(inputs).unwrap();
    lab.prepare(&entry.item.subjects(), &entry.item.runs(), &mut |_| {}).unwrap();
    entry.item.make(&lab).unwrap()
}

#[test]
fn experiments_are_found_by_name() {
    for entry in EXPERIMENTS {
        assert_eq!(experiments(entry.name).unwrap()[0].name, entry.name);
    }
    assert_eq!(experiments("all").unwrap().len(), EXPERIMENTS.len());
    assert_eq!(experiments("figures").unwrap().len(), EXPERIMENTS.len() - TABLES.len());
    let unknown = experiments("table9").err().map(|error| error.to_string()).unwrap();
    assert!(
        unknown.starts_with("unknown experiment 'table9' (known: classifiers, settings, table1,"),
        "{unknown}"
    );
}

#[test]
fn the_figure_on_trees_repeats_and_tells_the_truth() {
    let make = |seed| made("trees", Inputs { seed: Seed(seed), ..Inputs::default() });
    let made = make(0);
    assert_eq!(made, make(0));
    let (name, svg) = &made.files[0];
    assert_eq!(*name, "trees.svg");
    let document = roxmltree::Document::parse(svg).unwrap();
    // Identifiers are used once.
    let mut ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let n = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), n);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let number =
        |row: usize, column: usize| made.tables[0].rows[row][column].parse::<f64>().unwrap();
    // Of 500 denied people one is close to the border, and the recourses keep to r on what they
    // were made for.
    assert!((number(0, 1) - 0.5).abs() < 0.05, "{:?}", made.tables);
    assert!(number(1, 1) <= 0.05 && number(2, 2) <= 0.05, "{:?}", made.tables);
}

#[test]
fn figures_without_data_are_well_formed_and_say_what_they_show() {
    for (name, words) in [
        ("motivation", ["Wachter", "ARAR"]),
        ("navigation", ["r = 0.35", "PROBE, our solver"]),
        ("sigmoid", ["t = 100", "score"]),
        ("loan", ["cost of the change", "attempts that fail"]),
    ] {
        let made = made(name, Inputs::default());
        let (file, svg) = &made.files[0];
        assert_eq!(*file, format!("{name}.svg"));
        roxmltree::Document::parse(svg).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains(">inf"));
        for word in words {
            assert!(svg.contains(word), "{name}: no '{word}'");
        }
    }
}

#[test]
fn pictures_in_the_plane_tell_the_truth() {
    let rate = |made: &Made, row: usize| made.tables[0].rows[row][2].parse::<f64>().unwrap();
    let cost = |made: &Made, row: usize| made.tables[0].rows[row][1].parse::<f64>().unwrap();
    // At a corner of less than half a turn, a point on the boundary fails more often than not; ARAR
    // is the safest and the most expensive.
    let corner = made("motivation", Inputs::default());
    assert!(
        rate(&corner, 0) > 0.45 && rate(&corner, 1) <= 0.2 && rate(&corner, 2) < rate(&corner, 1)
    );
    assert!(cost(&corner, 0) < cost(&corner, 1) && cost(&corner, 1) < cost(&corner, 2));
    let moons = made("navigation", Inputs::default());
    for (row, target) in [(1, 0.35), (2, 0.2), (3, 0.05)] {
        // Certificates need a safety gap; a quarter of the target would be too much.
        assert!(
            rate(&moons, row) <= target && rate(&moons, row) > 0.75 * target,
            "{:?}",
            moons.tables
        );
        assert!(cost(&moons, row) > cost(&moons, row - 1), "{:?}", moons.tables);
    }
}

/// Small tables with the columns that the paper's files have, of a rule that can be learned.
fn write_data(folder: &std::path::Path) {
    for data in &crate::paper_data::PAPER_DATA {
        let mut stream = Seed(7).stream(probe_core::Purpose::Data, 1);
        let mut text = format!(
            "a,b,{}{}\n",
            data.categorical.iter().map(|c| format!("{c},")).collect::<String>(),
            data.target
        );
        for _ in 0..400 {
            let (a, b) = (stream.uniform(), stream.uniform());
            let groups: Vec<bool> =
                data.categorical.iter().map(|_| stream.uniform() < 0.5).collect();
            let yes = a + 0.5 * b + 0.2 * stream.normal() > 0.7;
            let words: String = groups.iter().map(|g| if *g { "u," } else { "v," }).collect();
            text += &format!("{a},{b},{words}{}\n", u8::from(yes));
        }
        std::fs::write(folder.join(data.file), text).unwrap();
    }
}

#[test]
fn tables_are_made_kept_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path());
    let cells = folder.path().join("cells");
    let inputs = Inputs {
        data: Some(folder.path().to_owned()),
        cells: Some(cells.clone()),
        people: Some(3),
        ..Inputs::default()
    };
    let first = made("sigma025", inputs.clone());
    let rows = &first.tables[0].rows;
    let n = 6 * (methods::baselines().len() + 6);
    assert_eq!(rows.len(), n);
    for row in rows {
        assert!(row[2] == "1" || row[0].contains("AR"), "everybody gets an answer here: {row:?}");
        if row[0].contains("our solver") {
            let rate: f64 = row[5].parse().unwrap();
            assert!((0.9 * 0.35..=0.35).contains(&rate), "{row:?}");
        }
    }
    let kept = |cells: &std::path::Path| std::fs::read_dir(cells).unwrap().count();
    // One file for every cell and every classifier.
    assert_eq!(kept(&cells), n + 6);
    // Found again: the times are those of the first run, to the bit.
    assert_eq!(made("sigma025", inputs.clone()), first);
    // Another number of people is another cell; an unreadable cell is computed again.
    let fewer = made("sigma025", Inputs { people: Some(2), ..inputs.clone() });
    assert_eq!((kept(&cells), fewer.tables[0].rows.len()), (2 * n + 6, n));
    for entry in std::fs::read_dir(&cells).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("gmc-lr-wachter") {
            std::fs::write(path, "{").unwrap();
        }
    }
    let rates =
        |made: &Made| made.tables[0].rows.iter().map(|row| row[4].clone()).collect::<Vec<_>>();
    assert_eq!(rates(&made("sigma025", inputs.clone())), rates(&first));
    // A cell of an older program, with other numbers: it is computed again although its name is
    // right.
    let changed = std::fs::read_dir(&cells).unwrap().map(|entry| entry.unwrap().path());
    for path in changed.filter(|path| path.to_string_lossy().contains("compas-nn-growing")) {
        let mut cell: Cell =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        cell.cost[0] = Some(123.0);
        std::fs::write(path, serde_json::to_string(&cell).unwrap()).unwrap();
    }
    let again = made("sigma025", inputs);
    let costs =
        |made: &Made| made.tables[0].rows.iter().map(|row| row[8].clone()).collect::<Vec<_>>();
    assert_eq!(costs(&again), costs(&first));
    let missing = Laboratory::new(Inputs::default()).unwrap().prepare(
        &[("gmc", Kind::Linear)],
        &[],
        &mut |_| {},
    );
    assert!(missing.unwrap_err().to_string().contains("--data DIR"));
}
