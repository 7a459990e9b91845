use super::*;
use proptest::prelude::*;

fn question() -> Question {
    Question::new("s", vec!["k=a,b".parse().unwrap()], vec![])
}

fn read(text: &str) -> Result<Table, TableError> {
    Table::read(text.as_bytes(), "t.csv", &question())
}

fn refused(text: &str) -> String {
    read(text).map(|table| table.values).unwrap_err().to_string()
}

#[test]
fn what_spreadsheets_write_is_read() {
    for text in [
        "k,s\na,1\nb,2\n",
        "\u{feff}k,s\r\na,1\r\nb,2\r\n",
        "k,s\n\na,1\n\n\nb,2",
        " k , s \n\"a\", 1 \nb,\" 2\"\n,\n",
        "note,k,s\n\"two\nlines, a comma and \"\"quotes\"\"\",a,1\n,b,2\n",
    ] {
        let table = read(text).unwrap();
        assert_eq!(table.values, [1.0, 2.0], "{text:?}");
        assert_eq!(table.factors[0].levels, ["a", "b"], "{text:?}");
    }
}

#[test]
fn an_error_names_the_line_whatever_the_line_ends_blank_lines_and_quoted_line_breaks() {
    for (text, line) in [
        ("k,s\na,1\nb,x\n", 3),
        ("k,s\na,1\nb,x", 3),
        ("k,s\r\na,1\r\nb,x\r\n", 3),
        ("k,s\r\na,1\r\nb,x", 3),
        ("k,s\n\n\na,1\n\nb,x\n", 6),
        ("k,s\r\n\r\na,1\r\n\r\nb,x\r\n", 5),
        ("k,s\n\"a\nc\",1\nb,x\n", 4),
        ("k,s\n\"a\nc\",x\nb,1\n", 2),
    ] {
        let said = refused(text);
        assert!(said.contains(&format!("line {line}, column 's': 'x'")), "{text:?}: {said}");
    }
}

#[test]
fn what_is_no_table_is_refused_with_a_remedy() {
    for (text, said) in [
        ("", "empty"),
        ("k,s\n", "no rows"),
        ("k,t\na,1\n", "its columns are 'k', 't'"),
        ("K,s\na,1\n", "did you mean 'K'?"),
        ("k|s\na|1\n", "say so with --delimiter"),
        ("# k,s\na,1\nb,2\n", "line 1 names it and is a comment"),
        ("# made by hand\nk,s,s\na,1,2\n", "line 2: the columns 2 and 3"),
        ("k,s,s\na,1,2\n", "columns 2 and 3 are both called 's'"),
        ("k,s\na,1,2\n", "3 fields where the header has 2"),
        ("k,s\na\n", "1 field where the header has 2"),
        ("k,s\na,742,83\n", "for decimal commas separate fields by something else"),
        ("k,s\na,1\n# the end\n", "read over only above the header"),
        ("k,s\na,1\nc,2\n", "no 'b' in column 'k'; the levels there are 'a', 'c'"),
        ("k,s\nA,1\nb,2\n", "the levels there are 'A', 'b'; did you mean 'A'?"),
        ("k,s\na,\"742,83\"\n", "decimal point"),
        ("k;s\na;1.042,83\n", "without separators of thousands"),
        ("k;s\na;912.5\nb;1,042\n", "line 3, column 's': '1,042' is not a number; other numbers of this column"),
        ("k\ts\na\t1,042\nb\t912.5\n", "line 3, column 's': '912.5' is not a number; other numbers of this column"),
        ("k,s\na,12 s\n", "without its unit"),
        ("k,s\na,1e999\n", "no finite value"),
        ("k,s\na,-inf\n", "no finite value"),
        ("k,s,outcome\na,1,good\n", "no outcome"),
        ("k,s,order\na,1,first\n", "column 'order': 'first' is no place in time"),
        ("k,s,Order\na,1,1\nb,2,2026-11-20 14:03:59\n", "line 3, column 'Order'"),
        ("k,s,order\na,1,2026-11-20T14:03:59Z\nb,2,2026-11-20 14:03:59\n", "all with a time zone or all without"),
        ("k,s,Outcome\na,1,good\n", "line 2, column 'Outcome': 'good' is no outcome"),
    ] {
        let found = refused(text);
        assert!(found.contains(said) && found.contains("t.csv"), "{text:?}: {found}");
    }
    let bytes = Table::read(&b"k,s\n\xff\xfe,1\n"[..], "t.csv", &question()).map(|_| ()).unwrap_err();
    assert!(bytes.to_string().contains("line 2, column 'k': the text is not UTF-8"), "{bytes}");
}

#[test]
fn what_is_missing_is_left_out_and_counted() {
    let table = read("k,s\na,1\na,NA\nb,\nb,nan\n,5\nb,2\nc,3\n").unwrap();
    assert_eq!(table.values, [1.0, 2.0]);
    assert_eq!(table.left_out.without_value, Rows { count: 3, first_line: 3 });
    assert_eq!(table.left_out.without_level.count, 0, "a row of no contrast is nobody's loss");
    assert_eq!(table.lines, [2, 7]);
}

#[test]
fn a_run_that_failed_needs_no_value_and_an_invalid_one_is_no_result() {
    let table = read("k,s,outcome\na,1,ok\nb,,OOM\nb,7,invalid\nb,2,ok\n").unwrap();
    assert_eq!(table.outcomes, [Outcome::Ok, Outcome::Oom, Outcome::Ok]);
    assert!(table.values[1].is_nan());
    assert_eq!((table.left_out.invalid.count, table.left_out.without_value.count), (1, 0));
}

#[test]
fn all_counters_are_the_columns_of_numbers() {
    let mut question = question();
    question.counters = Counters::All;
    let text = "k,s,host,faults,swap,order\na,1,x,5,1,1\nb,2,y,6,no,2\n";
    let table = Table::read(text.as_bytes(), "t.csv", &question).unwrap();
    let names: Vec<&str> = table.counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(names, ["faults"]);
    assert_eq!(table.counters[0].values, [5.0, 6.0]);
    assert_eq!(table.left_out.counters_with_text, [("swap".to_owned(), 3)]);
    question.counters = Counters::Named(vec!["swap".to_owned()]);
    let named = Table::read(text.as_bytes(), "t.csv", &question).map(|_| ()).unwrap_err();
    assert!(named.to_string().contains("column 'swap': 'no' is not a number"), "{named}");
}

#[test]
fn columns_that_mean_something_are_found_whatever_their_case() {
    let table = read("k,s,Outcome,ORDER,Block\na,1,ok,2,x\nb,,OOM,1,x\nb,2,ok,3,y\n").unwrap();
    assert_eq!(table.outcomes, [Outcome::Ok, Outcome::Oom, Outcome::Ok]);
    assert_eq!(table.order, [2.0, 1.0, 3.0]);
    assert_eq!(table.blocks, [Some(0), Some(0), Some(1)]);
    let found = &table.recognised;
    let names = [&found.outcome, &found.order, &found.block].map(|name| name.as_deref().unwrap_or_default());
    assert_eq!(names, ["Outcome", "ORDER", "Block"]);
}

#[test]
fn of_two_columns_that_mean_the_same_the_plain_one_is_used_and_the_other_told() {
    for (header, used, other) in [
        ("k,s,OUTCOME,outcome", "outcome", "OUTCOME"),
        ("k,s,outcome,Outcome", "outcome", "Outcome"),
        ("k,s,OUTCOME,Outcome", "OUTCOME", "Outcome"),
    ] {
        let table = read(&format!("{header}\na,1,ok,ok\nb,2,ok,ok\n")).unwrap();
        assert_eq!(table.recognised.outcome.as_deref(), Some(used), "{header}");
        assert_eq!(table.recognised.doubled, [(used.to_owned(), other.to_owned())], "{header}");
    }
    let question = Question::new("Order", vec!["k=a,b".parse().unwrap()], vec![]);
    let table = Table::read(&b"k,Order\na,1\nb,2\n"[..], "t.csv", &question).unwrap();
    assert_eq!((table.recognised.order, table.values), (None, vec![1.0, 2.0]), "what is compared is no order");
}

#[test]
fn rows_of_a_third_level_are_counted_and_held_against_those_that_are_compared() {
    let table = read("k,s\na,1\nB,2\nb,3\nB,4\nc,5\n").unwrap();
    assert_eq!(table.values, [1.0, 3.0]);
    let level = |level: &str, count, first_line, alike: Option<&str>| LeftOutLevel {
        factor: "k".to_owned(),
        level: level.to_owned(),
        rows: Rows { count, first_line },
        alike: alike.map(|known| ("the same but for case as", known.to_owned())),
    };
    assert_eq!(table.left_out.levels, [level("B", 2, 3, Some("b")), level("c", 1, 6, None)]);
    let mut question = question();
    question.by = vec!["heap".to_owned()];
    let table = Table::read(&b"k,s,heap\na,1,22\nb,2,22.0\n"[..], "t.csv", &question).unwrap();
    let alike = &table.recognised.alike[0];
    assert_eq!((alike.level.as_str(), alike.what, alike.other.as_str()), ("22.0", "the same number as", "22"));
}

#[test]
fn semicolons_tabs_and_decimal_commas_are_recognised() {
    for (text, words, has_commas) in [
        ("k;s\na;1,5\nb;2,25\n", "semicolons", true),
        ("k;s\r\na;1.5\r\nb;2.25\r\n", "semicolons", false),
        ("k\ts\na\t1,5\nb\t2,25\n", "tabs", true),
        ("# two runs; by hand\n\n#\nk;s\na;1,5\nb;2,25", "semicolons", true),
        ("k,s\na,1.5\nb,2.25\n", "commas", false),
    ] {
        let table = read(text).unwrap();
        assert_eq!(table.values, [1.5, 2.25], "{text:?}");
        assert_eq!(table.recognised.delimiter.words(), words, "{text:?}");
        assert_eq!(table.recognised.decimal_comma.is_some(), has_commas, "{text:?}");
    }
    let table = read("#\n# 2\nk;s\na;1,5\nb;2,25").unwrap();
    assert_eq!((table.recognised.comments, table.lines), (2, vec![4, 5]));
    let thousands = read("k;s\na;1,042\nb;1,100\n").unwrap().recognised.decimal_comma.unwrap();
    assert_eq!((thousands.0.as_str(), thousands.1.line, thousands.1.may_be_thousands), ("s", 2, true));
    let plain = read("k;s\na;1,042\nb;1,1\n").unwrap().recognised.decimal_comma.unwrap();
    assert!(!plain.1.may_be_thousands);
}

#[test]
fn a_delimiter_that_is_asked_for_is_used() {
    let asked = |text: &str, delimiter: &str| {
        Table::read_delimited(text.as_bytes(), "t.csv", &question(), Some(delimiter.parse().unwrap()))
    };
    assert_eq!(asked("k|s\na|1,5\nb|2\n", "|").unwrap().values, [1.5, 2.0]);
    assert_eq!(asked("k s\na 1\nb 2\n", "space").unwrap().values, [1.0, 2.0]);
    assert!(asked("k;s\na;1\nb;2\n", ",").unwrap_err().to_string().contains("its columns are 'k;s'"));
    assert_eq!(Table::columns(&b"k|s\n"[..], "t.csv", Some("|".parse().unwrap())).unwrap(), ["k", "s"]);
    assert_eq!(Table::columns(&b"# x\nk;s\n"[..], "t.csv", None).unwrap(), ["k", "s"]);
}

#[test]
fn timestamps_are_an_order() {
    let table = read("k,s,order\na,1,2026-11-20 14:03:59\nb,2,2026-11-20 14:04:01\nb,3,\n").unwrap();
    assert_eq!(table.order[1] - table.order[0], 2.0);
    assert!(table.order[2].is_nan() && table.recognised.order_is_time);
    let zoned = read("k,s,order\na,1,2026-11-20T14:00:00+01:00\nb,2,2026-11-20T13:00:00.5Z\n").unwrap();
    assert_eq!(zoned.order[1] - zoned.order[0], 0.5);
    assert!(!read("k,s,order\na,1,1\nb,2,2\n").unwrap().recognised.order_is_time);
}

#[test]
fn columns_of_few_levels_that_nobody_asked_about_are_kept() {
    let rows: String =
        (0..40).map(|n| format!("{},{n},{},{n},x,\n", ["a", "b"][n % 2], ["on", "off"][n / 20])).collect();
    let table = read(&format!("k,s,swap,run,host,empty\n{rows}")).unwrap();
    let names: Vec<&str> = table.unused.iter().map(|unused| unused.name.as_str()).collect();
    assert_eq!(names, ["swap"], "a number per row is no level, and one level differs from none");
    assert_eq!((table.unused[0].codes[19], table.unused[0].codes[20]), (0, 1));
}

proptest! {
    #[test]
    fn no_bytes_bring_it_down(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Table::read(&bytes[..], "t.csv", &question());
        let mut with_header = b"k,s,block,order,outcome\n".to_vec();
        with_header.extend(&bytes);
        let _ = Table::read(&with_header[..], "t.csv", &question());
        let mut with_tabs = b"# x\nk\ts\tBlock\tOrder\tOutcome\tother\n".to_vec();
        with_tabs.extend(&bytes);
        let _ = Table::read(&with_tabs[..], "t.csv", &question());
    }

    #[test]
    fn every_row_of_two_levels_is_kept_in_order(values in prop::collection::vec(-1e300f64..1e300, 2..40)) {
        let rows: String = values.iter().enumerate().map(|(n, v)| format!("{},{v}\n", if n % 2 == 0 { "a" } else { "b" })).collect();
        prop_assert_eq!(read(&format!("k,s\n{rows}")).unwrap().values, values);
    }
}
