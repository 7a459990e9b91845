//! `--hadoop DIR` and its like: one option for each place that a built-in workload can be told of. The workloads declare them.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use pagewise_host::workload::{self, Place, Places};
use std::ffi::OsString;

/// The places that were typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceArgs {
    pub(crate) places: Places,
}

/// The option for a place.
pub(crate) fn option(place: &'static Place) -> Arg {
    Arg::new(place.name).long(place.name).value_name("DIR").help(place.about).value_parser(value_parser!(OsString))
}

/// Those of `all` that were typed.
pub(crate) fn typed(all: impl Iterator<Item = &'static Place>, matches: &ArgMatches) -> Places {
    all.fold(Places::default(), |places, place| match matches.get_one::<OsString>(place.name) {
        Some(typed) => places.with(place.name, typed),
        None => places,
    })
}

impl FromArgMatches for PlaceArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(PlaceArgs { places: typed(workload::places(), matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.places = typed(workload::places(), matches).or(&self.places);
        Ok(())
    }
}

impl Args for PlaceArgs {
    fn augment_args(command: Command) -> Command {
        command.args(workload::places().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        PlaceArgs::augment_args(command)
    }
}
